"""What the carrier of the links between regions says of them, as JSON. Pure."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LinkState:
    """One direction. Packets are counted since the carrier's start; `dropped` by cut, loss or a full queue."""

    source: str
    target: str
    delay_ms: float
    """One way."""
    loss_percent: float
    is_cut: bool
    carried: int
    dropped: int
    under_way: int

    @property
    def condition(self) -> str:
        loss = f", {self.loss_percent:g} % lost" if self.loss_percent else ""
        return f"{'cut, ' if self.is_cut else ''}{self.delay_ms:g} ms{loss}"


@dataclass(frozen=True, slots=True)
class CarrierState:
    """`addresses`: place → address; `refused`: packets that a device did not take; `cpu_seconds` since the start;
    `clocks_ms`: region → milliseconds that its clock is set ahead, less than 0 behind; those that are off."""

    addresses: dict[str, str]
    links: tuple[LinkState, ...]
    refused: int
    cpu_seconds: float
    clocks_ms: dict[str, float]

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def link(self, source: str, target: str) -> LinkState:
        return next(one for one in self.links if (one.source, one.target) == (source, target))


def state_of_json(content: bytes) -> CarrierState:
    """Raise ValueError, KeyError or TypeError for anything else than what `to_json` wrote."""
    found = json.loads(content)
    links = tuple(LinkState(**link) for link in found["links"])
    return CarrierState(found["addresses"], links, found["refused"], found["cpu_seconds"], found["clocks_ms"])
