"""The part of Pub/Sub's protocol that the ends use: topics, subscriptions, publishing, pulling, acknowledging.

What is pulled and not acknowledged comes again at once, so a test need not wait for a deadline.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

grpc: Any = pytest.importorskip("grpc")
types: Any = pytest.importorskip("google.pubsub_v1.types")
Empty: Any = pytest.importorskip("google.protobuf.empty_pb2").Empty


@dataclass(slots=True)
class PubSubServer:
    """`refuses`: the code with which it answers every request; None for none. `poison`: a body that it refuses."""

    place: str = ""
    refuses: str | None = None
    poison: bytes = b"\0"
    subscriptions: dict[str, str] = field(default_factory=dict)
    """Of which topic each is."""
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    waiting: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By subscription, the messages that are not acknowledged, by their `ack_id`."""
    requests: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    """What requests showed, in turn."""
    emptied: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all of a subscription was acknowledged."""

    async def create_topic(self, topic: Any) -> Any:
        return topic

    async def create_subscription(self, subscription: Any) -> Any:
        self.subscriptions[subscription.name] = subscription.topic
        self.waiting[subscription.name] = {}
        return subscription

    async def publish(self, request: Any) -> Any:
        if any(one.data == self.poison for one in request.messages):
            raise ValueError("INVALID_ARGUMENT")
        if len({one.ordering_key for one in request.messages}) > 1:
            # as Google's own: all messages of a request have no ordering key, or the same
            raise ValueError("FAILED_PRECONDITION")
        names = [name for name, topic in self.subscriptions.items() if topic == request.topic]
        if not names:
            raise ValueError("NOT_FOUND")
        for message in request.messages:
            message.message_id = str(next(self.ids))
            for name in names:
                self.waiting[name][f"ack-{message.message_id}"] = message
        return types.PublishResponse(message_ids=[one.message_id for one in request.messages])

    async def pull(self, request: Any) -> Any:
        if request.subscription not in self.waiting:
            raise ValueError("NOT_FOUND")
        found = list(self.waiting[request.subscription].items())[: request.max_messages]
        return types.PullResponse(
            received_messages=[types.ReceivedMessage(ack_id=ack, message=one) for ack, one in found]
        )

    async def acknowledge(self, request: Any) -> Any:

        for ack in request.ack_ids:
            self.waiting[request.subscription].pop(ack, None)
        if not self.waiting[request.subscription]:
            self.emptied.set()
        return Empty()

    async def answer(self, name: str, request: Any, context: Any) -> Any:

        self.requests.append(name)
        self.logins += [value for key, value in context.invocation_metadata() if key == "authorization"]
        try:
            if self.refuses is not None:
                raise ValueError(self.refuses)
            return await getattr(self, name)(request)
        except ValueError as error:
            return await context.abort(grpc.StatusCode[str(error)], "so a test says")


@asynccontextmanager
async def pubsub_server(
    port: int = 0, world: PubSubServer | None = None, certificate: bytes | None = None
) -> AsyncIterator[PubSubServer]:
    """`world`: what it goes on with. `certificate`: with its key, as PEM, for TLS."""

    served = world or PubSubServer()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(tuple(_handlers(served)))
    at = f"127.0.0.1:{port}"
    if certificate is None:
        taken = server.add_insecure_port(at)
    else:
        taken = server.add_secure_port(at, grpc.ssl_server_credentials([(certificate, certificate)]))
    served.place = f"127.0.0.1:{taken}"
    await server.start()
    try:
        yield served
    finally:
        await server.stop(None)


def _handlers(served: PubSubServer) -> list[Any]:

    def method(name: str, request: Any, answer: Any) -> Any:
        async def handle(asked: Any, context: Any) -> Any:
            return await served.answer(name, asked, context)

        write = Empty.SerializeToString if answer is Empty else answer.serialize
        return grpc.unary_unary_rpc_method_handler(handle, request.deserialize, write)

    publisher = {
        "CreateTopic": method("create_topic", types.Topic, types.Topic),
        "Publish": method("publish", types.PublishRequest, types.PublishResponse),
    }
    subscriber = {
        "CreateSubscription": method("create_subscription", types.Subscription, types.Subscription),
        "Pull": method("pull", types.PullRequest, types.PullResponse),
        "Acknowledge": method("acknowledge", types.AcknowledgeRequest, Empty),
    }
    return [
        grpc.method_handlers_generic_handler("google.pubsub.v1.Publisher", publisher),
        grpc.method_handlers_generic_handler("google.pubsub.v1.Subscriber", subscriber),
    ]
