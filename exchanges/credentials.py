"""Return the API keys of one exchange account. They never appear in a repr, a log or an error."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from exchanges.errors import AccountRejectedError

_HIDDEN = "***"
_PRIVATE_KEY = "-----BEGIN "


def is_private_key(secret: str) -> bool:
    """Whether it is the PEM of one."""
    return secret.startswith(_PRIVATE_KEY)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The fields as ccxt names them; `password` is coinbaseexchange's passphrase. A private key has line breaks where
    `\\n` stands for them, as in a line of an environment file, and none of Windows: ccxt tells Binance's kinds of keys
    by their length."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)
    password: str = field(default="", repr=False)
    uid: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if is_private_key(self.secret):
            object.__setattr__(self, "secret", self.secret.replace("\\n", "\n").replace("\r", "").strip())

    def hidden_in(self, text: str) -> str:
        """`text` without the keys: some exchanges repeat the key in their rejection."""
        # each line of a private key, too: a text may have it without its line breaks
        lines = (line for line in self.secret.splitlines() if not line.startswith("-----"))
        for part in (self.api_key, self.secret, *lines, self.password, self.uid):
            if part:
                text = text.replace(part, _HIDDEN)
        return text


def credentials_path(home: Path) -> Path:
    return home / "exchange_accounts.json"


def load_credentials(home: Path, exchange: str) -> Credentials:
    """Return the API keys of a simulated exchange's test account. Raises AccountRejectedError if there are none."""
    path = credentials_path(home)
    try:
        keys = json.loads(path.read_text())[exchange]
        return Credentials(keys["apiKey"], keys["secret"], keys.get("password", ""), keys.get("uid", ""))
    except FileNotFoundError:
        raise AccountRejectedError(f"{path} is missing: the simulated exchanges have not been started yet") from None
    except (KeyError, TypeError, ValueError):
        raise AccountRejectedError(f"{path} contains no valid API keys for {exchange}") from None
