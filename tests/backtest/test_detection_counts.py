"""Counts of what the kernel finds, also at prices that are far apart."""

import numpy as np

from backtest.detect.detection_counts import LogCounts
from cep.detection.kernel.log import NO_SETTINGS, KernelLog, KernelResult
from cep.detection.kernel.records import HIT
from cep.detection.market_layout import Layout


def test_bps_beyond_what_a_column_holds_are_counted() -> None:
    """Bids and asks have up to 31 digits before the point, and as many places behind it."""
    hits = np.zeros(3, dtype=HIT)
    hits["net_bps"] = [9e64, 12.5, -3e20]
    hits["pair"], hits["buy_quote_sequence"] = [0, 1, 0], [1, 2, 3]
    layout = Layout((), (), "")
    counts = LogCounts("BTC", KernelLog(layout, "BTC", None), layout)
    counts._last = np.full((2, 4), -2, dtype=np.int64)
    counts.add(3, [KernelResult(hits, NO_SETTINGS)])
    assert counts._counts.net_bps == {int(9e64): 1, 12: 1, -int(3e20): 1}
