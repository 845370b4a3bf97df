"""Faults of regions that a chaos run injects: of the links between them, of a clock, and of all processes of one.
Pure."""

from dataclasses import dataclass
from typing import Literal

LinkVerb = Literal["cut", "loss", "delay"]


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A command of `arbitrage region`, and its healing after `seconds`.

    `links` as the command takes them: `jp` (all of that region), `us eu` (both ways), `us to eu` (only that way).
    `number`: percent lost, or milliseconds.
    """

    at: float
    verb: LinkVerb
    links: str
    seconds: float
    number: float | None = None

    @property
    def command(self) -> str:
        return f"{self.verb} {self.links}" + ("" if self.number is None else f" {self.number:g}")

    @property
    def healing(self) -> str:
        return f"heal {self.links}"

    @property
    def regions(self) -> tuple[str, ...]:
        """Return one region, or the two at the ends."""
        return tuple(word for word in self.links.split() if word != "to")

    @property
    def cut_off(self) -> str | None:
        """Return the region that is cut off meanwhile, in both directions."""
        return self.links if self.verb == "cut" and len(self.regions) == 1 else None

    @property
    def kind(self) -> str:
        if self.verb != "cut":
            return f"{self.verb} of a link"
        return "cut of a region" if self.cut_off else "cut of one way" if " to " in self.links else "cut of a link"

    @property
    def description(self) -> str:
        return f"{self.command} for {self.seconds} s"


@dataclass(frozen=True, slots=True)
class ClockFault:
    """The clock of a region is so many seconds ahead, behind if less than 0, for `seconds`."""

    at: float
    region: str
    skew: float
    seconds: float

    @property
    def command(self) -> str:
        return f"skew {self.region} {self.skew:+g}s"

    @property
    def healing(self) -> str:
        # `heal` would heal the region's links as well
        return f"skew {self.region} 0"

    @property
    def cut_off(self) -> str | None:
        return None

    @property
    def kind(self) -> str:
        return "skew of a clock"

    @property
    def description(self) -> str:
        return f"{self.command} for {self.seconds} s"


@dataclass(frozen=True, slots=True)
class RegionKill:
    """kill -9 of all processes of a region at once, or of all its bots."""

    at: float
    region: str
    bots_alone: bool = False

    @property
    def kind(self) -> str:
        return "kill bots of a region" if self.bots_alone else "kill region"

    @property
    def description(self) -> str:
        return f"kill -9 all {'bots' if self.bots_alone else 'processes'} of {self.region}"
