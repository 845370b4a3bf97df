"""Return the API keys of one exchange account. They never appear in a repr, a log or an error."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from exchanges.errors import AccountRejectedError

_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The fields as ccxt names them; `password` is coinbaseexchange's passphrase."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)
    password: str = field(default="", repr=False)
    uid: str = field(default="", repr=False)

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
