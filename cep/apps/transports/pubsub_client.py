"""Google Pub/Sub, for asyncio: publishing, pulling and acknowledging in single requests, of which none is repeated
here. The library is imported when a client is made: few apps have one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cep.apps.transports.ports import NotTakenError, RowsRefusedError

ATTEMPT_SECONDS = 20.0
PULL_SECONDS = 60.0
"""So long a request waits for a message; then the next one does."""
MOST_ANSWER_BYTES = 64 << 20
TOKENS = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/pubsub"
OF_THE_MESSAGES = ("INVALID_ARGUMENT", "OUT_OF_RANGE")
"""Codes that say something about messages. Any other, also that the topic is not there, is over at another time."""


@dataclass(frozen=True, slots=True)
class PubSubTerms:
    """`place`: host and port. `user`, `password`: a service account's address and private key; None, on a connection
    without TLS, for an emulator. `ca`: a file with the server's authority, None for the public ones. `tokens`: who
    gives the account tokens."""

    project: str
    place: str
    is_plain: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    tokens: str = TOKENS


@dataclass(frozen=True, slots=True)
class PulledMessage:
    """`ack`: by which it is acknowledged."""

    body: bytes
    attributes: dict[str, str]
    id: str
    ordering_key: str
    ack: str


class PubSubClient:
    """All methods but `close` raise NotTakenError and RowsRefusedError."""

    def __init__(self, terms: PubSubTerms) -> None:
        self._terms = terms
        self._channel: Any = None
        self._account: Any = None
        """None on a connection without TLS, and before the first request."""
        self._asking = asyncio.Lock()
        """Of many requests one gets the next token."""

    async def publish(self, topic: str, messages: Sequence[tuple[bytes, dict[str, str]]], key: str = "") -> None:
        """Publish all of them in one request. `messages`: body and attributes of each. `key`: their ordering key."""
        from google.pubsub_v1.types import PublishRequest, PubsubMessage

        request = PublishRequest(
            topic=f"projects/{self._terms.project}/topics/{topic}",
            messages=[PubsubMessage(data=body, attributes=noted, ordering_key=key) for body, noted in messages],
        )
        await self._asked(partial(self._publisher().publish, request, retry=None, timeout=ATTEMPT_SECONDS))

    async def pull(self, subscription: str, most: int) -> list[PulledMessage]:
        """Return messages once there are some; none after a while without any."""
        from google.api_core.exceptions import DeadlineExceeded
        from google.pubsub_v1.types import PullRequest

        request = PullRequest(subscription=self._subscription(subscription), max_messages=most)
        try:
            found = await self._asked(
                partial(self._subscriber().pull, request, retry=None, timeout=PULL_SECONDS), passed=DeadlineExceeded
            )
        except DeadlineExceeded:
            return []
        return [
            PulledMessage(
                one.message.data,
                dict(one.message.attributes),
                one.message.message_id,
                one.message.ordering_key,
                one.ack_id,
            )
            for one in found.received_messages
        ]

    async def acknowledge(self, subscription: str, acks: Sequence[str]) -> None:
        from google.pubsub_v1.types import AcknowledgeRequest

        request = AcknowledgeRequest(subscription=self._subscription(subscription), ack_ids=list(acks))
        await self._asked(partial(self._subscriber().acknowledge, request, retry=None, timeout=ATTEMPT_SECONDS))

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _asked(self, request: Callable[..., Awaitable[Any]], passed: type[Exception] | tuple[()] = ()) -> Any:
        from google.api_core.exceptions import GoogleAPICallError

        token = await self._token()
        try:
            return await request(metadata=() if token is None else (("authorization", f"Bearer {token}"),))
        except passed:
            raise
        except GoogleAPICallError as error:
            code = "?" if error.grpc_status_code is None else error.grpc_status_code.name
            reason = f"Pub/Sub at {self._terms.place} answers {code} ({error.message})"
            if code in OF_THE_MESSAGES:
                raise RowsRefusedError(reason) from None
            raise NotTakenError(reason, is_of_server=code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")) from None

    async def _token(self) -> str | None:
        """Return what a request shows; None without an account. grpc could get it too, but would log what the
        server says to the account, with a trace, and say UNAVAILABLE."""
        if self._account is None:
            return None
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request

        async with self._asking:
            if not self._account.valid:
                try:
                    await asyncio.to_thread(self._account.refresh, partial(Request(), timeout=ATTEMPT_SECONDS))
                except GoogleAuthError:
                    # its text may have more of the answer than people should see
                    problem = "the service account gets no token"
                    raise NotTakenError(f"Pub/Sub at {self._terms.place}: {problem}") from None
            token: str = self._account.token
            return token

    def _subscription(self, name: str) -> str:
        return f"projects/{self._terms.project}/subscriptions/{name}"

    def _publisher(self) -> Any:
        from google.pubsub_v1.services.publisher import PublisherAsyncClient
        from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport

        return PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=self._opened()))

    def _subscriber(self) -> Any:
        from google.pubsub_v1.services.subscriber import SubscriberAsyncClient
        from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

        return SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=self._opened()))

    def _opened(self) -> Any:
        if self._channel is None:
            self._channel = self._made()
        return self._channel

    def _made(self) -> Any:
        import grpc
        from google.oauth2.service_account import Credentials

        terms, options = self._terms, [("grpc.max_receive_message_length", MOST_ANSWER_BYTES)]
        if terms.is_plain:
            return grpc.aio.insecure_channel(terms.place, options)
        account = {"client_email": terms.user, "private_key": terms.password, "token_uri": terms.tokens}
        try:
            self._account = Credentials.from_service_account_info(account, scopes=[SCOPE])
            authority = None if terms.ca is None else Path(terms.ca).read_bytes()
        except (ValueError, OSError):
            raise NotTakenError("the key of the service account, or the ca, in the login_file cannot be read") from None
        return grpc.aio.secure_channel(terms.place, grpc.ssl_channel_credentials(authority), options)
