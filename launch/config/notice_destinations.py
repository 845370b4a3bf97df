"""`[[notices]]` of the configuration: notification destinations, checked before the start. Secrets are elsewhere."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from launch.errors import CannotStartError
from market.money import BoundedDecimal
from notices.channels.secrets import Secrets, checked_secrets
from notices.errors import MisconfiguredError
from session.notice_destinations import KINDS, TELEGRAM_URL, Destination, DestinationKind, NoticeKind

Least = Annotated[BoundedDecimal, Field(ge=0, le=1_000_000_000)]


class NoticesConfiguration(BaseModel):
    """One destination."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: DestinationKind
    name: str = Field(default="", pattern=r"^([a-z][a-z0-9-]{0,31})?$")
    """Names its secrets' variables, and stands in logs; the kind if none is given."""
    events: tuple[NoticeKind, ...] = Field(default=KINDS, min_length=1)
    assets: tuple[Annotated[str, Field(pattern=r"^[A-Z0-9]{1,12}$")], ...] = ()
    pairs: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]+/[a-z0-9]+$")], ...] = ()
    min_profit: Least = Decimal(0)
    min_loss: Least = Decimal(0)
    secrets_file: Path | None = None
    telegram_url: str = TELEGRAM_URL
    per_minute: int = Field(default=20, ge=1, le=60)
    batch_seconds: float = Field(default=10.0, ge=0, le=3_600)
    single_leg_seconds: float = Field(default=10.0, ge=0, le=3_600)
    drop_after_minutes: float = Field(default=60.0, gt=0, le=1_440)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "NoticesConfiguration":
        if self.kind != "telegram" and self.telegram_url != TELEGRAM_URL:
            raise ValueError("telegram_url is for destinations of kind telegram")
        if "notifier" in self.events:
            raise ValueError("events: notifier goes to every destination and is not to be named")
        return self

    @property
    def destination(self) -> Destination:
        return Destination(**dict(self) | {"name": self.name or self.kind})


def configured_destinations(
    configured: Sequence[NoticesConfiguration], environment: Mapping[str, str]
) -> tuple[Destination, ...]:
    """Return the configured destinations, each with its secrets where they belong. Raises CannotStartError in one
    sentence, before anything was started."""
    destinations = tuple(each.destination for each in configured)
    names = [destination.name for destination in destinations]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CannotStartError(f"[[notices]]: two destinations are called {twice!r}; give each a name of its own.")
    if destinations:
        secrets_checked(destinations, environment)
    return destinations


def secrets_checked(destinations: Sequence[Destination], environment: Mapping[str, str]) -> dict[str, Secrets]:
    """Return the secrets by the destination's name. Raises CannotStartError."""
    try:
        return checked_secrets(destinations, environment)
    except MisconfiguredError as error:
        raise CannotStartError(f"{error}.") from None
