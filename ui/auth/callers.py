"""Who calls: the name, the role, and by what they are known."""

from dataclasses import dataclass, field
from typing import Literal

from ui.auth.address_groups import counted_address

Role = Literal["viewer", "author", "operator"]
"""A viewer reads; an author writes and publishes stream apps too; an operator changes all that can be changed."""
Means = Literal["open", "key", "sign-in", "token"]
"""By what a caller is known: by nothing (reading is open), an API key, a signed-in browser, an OIDC token."""

ANYBODY = "anybody"
OWNER = "owner"
"""Whom the first key of a data folder belongs to."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `name` is a key's name, or a token's subject; `address` where the request came from."""

    name: str
    role: Role
    means: Means = "open"
    address: str = ""
    mark: str = field(default="", repr=False)
    """Tells keys apart, so that a replaced key differs from the one before; not the key, nor its hash."""
    until: int | None = field(default=None, compare=False)
    """When the sign-in or the token ends, microseconds UTC; None for what has no end."""
    sign_in: str = field(default="", repr=False, compare=False)
    """Which sign-in of a browser it is, so that its end ends what it opened; empty if it is none."""

    @property
    def may_change(self) -> bool:
        """Whether it may change what is traded, and all else."""
        return self.role == "operator"

    @property
    def may_publish(self) -> bool:
        """Whether it may write stream apps, and say which of them run."""
        return self.role in ("author", "operator")

    @property
    def named(self) -> str:
        """Return name and role, as the beginning of a sentence."""
        return f"{self.name} is {'a' if self.role == 'viewer' else 'an'} {self.role}"

    @property
    def bounds(self) -> str:
        """Return what a caller who is no operator may not do, as a sentence without its stop."""
        what = "may publish stream apps, and change nothing else" if self.may_publish else "may not change anything"
        return f"{self.named} and {what}"


def rate_name(caller: Caller) -> str:
    """Return by what a caller's requests are counted: its key, else its address."""
    return f"address {counted_address(caller.address)}" if caller.means == "open" else f"key {caller.name}"
