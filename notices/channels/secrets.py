"""Addresses, tokens and keys of destinations: from the environment or a file of the owner's. They are never shown."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from notices.errors import MisconfiguredError
from runtime.loopback import is_loopback
from runtime.secret_files import PrivateFileError, private_toml
from session.notice_destinations import Destination

PREFIX = "ARBITRAGE_NOTICES_"
"""Prefix of every variable that may hold a secret of a destination."""
_HIDDEN = "***"
_NEEDED = {"webhook": ("url",), "telegram": ("token", "chat")}
_POSSIBLE = {"webhook": ("url", "signing_key"), "telegram": ("token", "chat")}
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


Secrets = WebhookSecrets | TelegramSecrets


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
    check_address(found["url"], f"{_who(destination)}: its url")
    key = found.get("signing_key") or None
    if key is not None and len(key) < MIN_KEY:
        raise MisconfiguredError(f"{_who(destination)}: its signing_key is shorter than {MIN_KEY} characters")
    return WebhookSecrets(found["url"], key)


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
