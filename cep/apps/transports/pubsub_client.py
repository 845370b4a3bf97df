"""Google Pub/Sub, for asyncio: publishing, pulling and acknowledging in single requests, of which none is repeated
here. The library is imported when a client is made: few apps have one.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
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
    without TLS, for an emulator. `ca`: a file with the server's authority, None for the public ones."""

    project: str
    place: str
    is_plain: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None


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

    async def publish(self, topic: str, messages: Sequence[tuple[bytes, dict[str, str], str]]) -> None:
        """Publish all of them in one request. `messages`: body, attributes and ordering key of each."""
        from google.pubsub_v1.types import PublishRequest, PubsubMessage

        request = PublishRequest(
            topic=f"projects/{self._terms.project}/topics/{topic}",
            messages=[PubsubMessage(data=one[0], attributes=one[1], ordering_key=one[2]) for one in messages],
        )
        await self._asked(self._publisher().publish(request, retry=None, timeout=ATTEMPT_SECONDS))

    async def pull(self, subscription: str, most: int) -> list[PulledMessage]:
        """Return messages once there are some; none after a while without any."""
        from google.api_core.exceptions import DeadlineExceeded
        from google.pubsub_v1.types import PullRequest

        request = PullRequest(subscription=self._subscription(subscription), max_messages=most)
        try:
            found = await self._asked(
                self._subscriber().pull(request, retry=None, timeout=PULL_SECONDS), passed=DeadlineExceeded
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
        await self._asked(self._subscriber().acknowledge(request, retry=None, timeout=ATTEMPT_SECONDS))

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _asked(self, answer: Awaitable[Any], passed: type[Exception] | tuple[()] = ()) -> Any:
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError

        try:
            return await answer
        except passed:
            raise
        except GoogleAPICallError as error:
            code = "?" if error.grpc_status_code is None else error.grpc_status_code.name
            reason = f"Pub/Sub at {self._terms.place} answers {code} ({error.message})"
            if code in OF_THE_MESSAGES:
                raise RowsRefusedError(reason) from None
            raise NotTakenError(reason, is_of_server=code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")) from None
        except GoogleAuthError:
            # its text may have more of the answer than people should see
            raise NotTakenError(f"Pub/Sub at {self._terms.place}: the service account gets no token") from None

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
        from google.auth.transport.grpc import AuthMetadataPlugin
        from google.auth.transport.requests import Request
        from google.oauth2.service_account import Credentials

        terms, options = self._terms, [("grpc.max_receive_message_length", MOST_ANSWER_BYTES)]
        if terms.is_plain:
            return grpc.aio.insecure_channel(terms.place, options)
        account = {"client_email": terms.user, "private_key": terms.password, "token_uri": TOKENS}
        try:
            login = Credentials.from_service_account_info(account, scopes=[SCOPE])
            authority = None if terms.ca is None else Path(terms.ca).read_bytes()
        except (ValueError, OSError):
            raise NotTakenError("the key of the service account, or the ca, in the login_file cannot be read") from None
        calls = grpc.metadata_call_credentials(AuthMetadataPlugin(login, Request()))
        both = grpc.composite_channel_credentials(grpc.ssl_channel_credentials(authority), calls)
        return grpc.aio.secure_channel(terms.place, both, options)
