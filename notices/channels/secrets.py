"""Addresses, tokens and keys of destinations: from the environment or a file of the owner's. They are never shown."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from notices.errors import MisconfiguredError
from runtime.loopback import is_loopback
from runtime.secret_files import PrivateFileError, private_toml
from session.notice_destinations import Destination, DestinationKind

PREFIX = "ARBITRAGE_NOTICES_"
"""Prefix of every variable that may hold a secret of a destination."""
_HIDDEN = "***"
_NEEDED: Mapping[DestinationKind, tuple[str, ...]] = {
    "webhook": ("url",),
    "telegram": ("token", "chat"),
    "discord": ("url",),
    "slack": ("url",),
    "email": ("server", "sender", "recipients"),
}
_POSSIBLE: Mapping[DestinationKind, tuple[str, ...]] = {
    **_NEEDED,
    "webhook": ("url", "signing_key"),
    "email": ("server", "user", "password", "sender", "recipients"),
}
SUBMISSION_PORT = 587
"""Of a mail server that names none (RFC 6409)."""
MOST_RECIPIENTS = 20
_mailbox = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*")
MIN_KEY = 16
"""Minimum length of a signing key in characters; shorter ones can be guessed."""


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """The secrets of a webhook. Many addresses hold a token, so the whole address is secret."""

    url: str = field(repr=False)
    signing_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TelegramSecrets:
    """The bot's token and the chat it writes to."""

    token: str = field(repr=False)
    chat: str = field(repr=False)

    @property
    def all(self) -> tuple[str, ...]:
        return (self.token, self.chat)

    def hidden_in(self, text: str) -> str:
        """Return `text` without the secrets."""
        return _without(text, self.all)


@dataclass(frozen=True, slots=True)
class ChatSecrets:
    """The webhook of a channel of Discord or Slack; whoever has the address can write there."""

    chat: Literal["discord", "slack"]
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class MailSecrets:
    """A mail server, who logs in there (`user` empty: nobody), and from whom to whom mails go."""

    host: str
    port: int
    sender: str
    recipients: tuple[str, ...]
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


Secrets = WebhookSecrets | TelegramSecrets | ChatSecrets | MailSecrets


class HiddenInLogs(logging.Filter):
    """Removes secrets from the lines that a library logs."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _without(record.getMessage(), self._secrets), None
        return True


def checked_secrets(destinations: Sequence[Destination], environment: Mapping[str, str]) -> dict[str, Secrets]:
    """Return the secrets by the destination's name. Raises MisconfiguredError for the first that lacks something."""
    return {destination.name: secrets_of(destination, environment) for destination in destinations}


def secrets_of(destination: Destination, environment: Mapping[str, str]) -> Secrets:
    """Return the secrets from the file that the configuration names, or else from the environment.

    Raises MisconfiguredError in one sentence that names the place and no value.
    """
    found = _from_file(destination) if destination.secrets_file is not None else _from(destination, environment)
    missing = [name for name in _NEEDED[destination.kind] if not found.get(name)]
    if missing:
        raise MisconfiguredError(f"{_who(destination)} needs {_places(destination, missing)}")
    if destination.kind == "telegram":
        check_address(destination.telegram_url, f"{_who(destination)}: telegram_url")
        if ":" not in found["token"]:
            raise MisconfiguredError(f"{_who(destination)}: its token is not a @BotFather token (NUMBER:TEXT)")
        return TelegramSecrets(found["token"], found["chat"])
    if destination.kind == "email":
        return _mail_secrets(destination, found)
    check_address(found["url"], f"{_who(destination)}: its url")
    if destination.kind in ("discord", "slack"):
        return ChatSecrets("discord" if destination.kind == "discord" else "slack", found["url"])
    key = found.get("signing_key") or None
    if key is not None and len(key) < MIN_KEY:
        raise MisconfiguredError(f"{_who(destination)}: its signing_key is shorter than {MIN_KEY} characters")
    return WebhookSecrets(found["url"], key)


def _mail_secrets(destination: Destination, found: Mapping[str, str]) -> MailSecrets:
    who = _who(destination)
    host, port = _mail_server(found["server"], who)
    recipients = tuple(one.strip() for one in found["recipients"].split(",") if one.strip())
    if not 1 <= len(recipients) <= MOST_RECIPIENTS:
        raise MisconfiguredError(f"{who}: its recipients must be 1 to {MOST_RECIPIENTS} mailboxes, with commas between")
    if not all(_mailbox.fullmatch(one) for one in (found["sender"], *recipients)):
        raise MisconfiguredError(f"{who}: its sender or one of its recipients is no mailbox (NAME@HOST)")
    if bool(found.get("user")) != bool(found.get("password")):
        raise MisconfiguredError(f"{who}: user and password belong together")
    return MailSecrets(host, port, found["sender"], recipients, found.get("user", ""), found.get("password", ""))


def _mail_server(server: str, who: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{server}")
        host, port = parts.hostname, SUBMISSION_PORT if parts.port is None else parts.port
    except ValueError:
        raise MisconfiguredError(f"{who}: its server is no HOST:PORT") from None
    if not host or not port or parts.path or parts.username is not None or any(sign.isspace() for sign in server):
        raise MisconfiguredError(f"{who}: its server is no HOST:PORT")
    return host, port


def variable(destination: str, secret: str) -> str:
    """Return the environment variable that holds it."""
    return f"{PREFIX}{destination.upper().replace('-', '_')}_{secret.upper()}"


def check_address(url: str, place: str) -> None:
    """Raise MisconfiguredError if it is no address, or is plain http beyond this machine."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise MisconfiguredError(f"{place} is no address") from None
    if parts.scheme not in ("http", "https") or not host or port == 0 or any(sign.isspace() for sign in url):
        raise MisconfiguredError(f"{place} is no address that begins with https://")
    if parts.username is not None or parts.password is not None:
        raise MisconfiguredError(f"{place} must hold no name or password before its host")
    if parts.scheme == "http" and not is_loopback(host):
        raise MisconfiguredError(f"{place} must begin with https://: it leaves this machine")


def _from(destination: Destination, environment: Mapping[str, str]) -> dict[str, str]:
    names = _POSSIBLE[destination.kind]
    return {name: environment.get(variable(destination.name, name), "").strip() for name in names}


def _from_file(destination: Destination) -> dict[str, str]:
    path = (destination.secrets_file or Path()).expanduser()
    place = f"{_who(destination)}: {path}"
    try:
        values = private_toml(path)
    except PrivateFileError as error:
        raise MisconfiguredError(f"{_who(destination)}: {error}") from None
    strange = sorted(set(values) - set(_POSSIBLE[destination.kind]))
    if strange:
        raise MisconfiguredError(f"{place}: {strange[0]} is none of {', '.join(_POSSIBLE[destination.kind])}")
    if any(not isinstance(value, str | int) for value in values.values()):
        raise MisconfiguredError(f"{place}: every value must be a text")
    return {name: str(value).strip() for name, value in values.items()}


def _who(destination: Destination) -> str:
    return f"notices destination {destination.name!r}"


def _places(destination: Destination, names: list[str]) -> str:
    if destination.secrets_file is not None:
        return f"{' and '.join(names)} in {destination.secrets_file}"
    variables = " and ".join(variable(destination.name, name) for name in names)
    return f"{variables} in the environment, or a secrets_file"


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text
