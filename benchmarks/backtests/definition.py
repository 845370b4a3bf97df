"""What every engine looks for in the generated quotes, and what it has to answer. Nothing but numpy: peers import it.

At each quote: every ordered pair with the exchange that has just quoted; the other one's quote is its newest, not
older than MAX_AGE; net bps after both taker fees >= 0. All of it in doubles, in this one order of operations:

    gross bps = (sell − buy) × 10000 ÷ buy
    fee bps   = (buy × buy fee + sell × sell fee) × 10000 ÷ buy
    net bps   = gross bps − fee bps
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

EXCHANGES = ("alpha", "beta", "gamma", "delta", "epsilon")
ASSETS = tuple(f"A{number:02}" for number in range(50))
FEES = ("0.0010", "0.0008", "0.0012", "0.0010", "0.0009")
"""Taker fee of each exchange, as a fraction of the notional."""
FEE_RATES = tuple(float(fee) for fee in FEES)
MAX_AGE = 10_000_000
"""Microseconds; a hundredth of the quotes are older by the time another exchange quotes."""
START = 1_767_571_200_000_000
"""2026-01-05, microseconds UTC."""
PRICE_DECIMALS = 2

_WRAP = 1 << 64

Times = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one pass over the quotes."""

    rows: int
    count: int
    times: int | None
    """Sum over the opportunities of microseconds since START; None: not requested."""
    net_bits: int
    """Sum over the opportunities of the 64 bits of net bps, modulo 2^64."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Parts of the pass that the engine itself can measure."""

    def agrees(self, other: "Found") -> bool:
        """Return whether both agree on the same rows; the sum of bits alone shows that each net bps is equal to the
        last bit."""
        same_times = None in (self.times, other.times) or self.times == other.times
        return (self.rows, self.count, self.net_bits) == (other.rows, other.count, other.net_bits) and same_times


def found(rows: int, times: Times, net_bps: Numbers, seconds: dict[str, float] | None = None) -> Found:
    """Return the result; `times` and `net_bps` are those of the opportunities, in any order."""
    # sums of numpy's integers wrap around without a message, as wanted
    bits = int(np.ascontiguousarray(net_bps).view(np.uint64).sum(dtype=np.uint64)) % _WRAP
    return Found(rows, len(times), int((times - START).sum()), bits, seconds or {})


def answer(one_pass: Callable[[], Found]) -> None:
    """Print a pass's result as a line of JSON; run another pass for each line that is read, until there are no more."""
    while True:
        sys.stdout.write(json.dumps(asdict(one_pass())) + "\n")
        sys.stdout.flush()
        if not sys.stdin.readline():
            return
