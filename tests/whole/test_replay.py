"""Recorded ticks through the whole system: it ends by itself and says what it saw."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from streams.broker.embedded_broker import free_ports
from tests.whole.running import ROOT, new_home, ours_running, run_command

pytestmark = pytest.mark.whole

SHARED = ROOT.parent / "shared" / "data"
HFTBACKTEST = SHARED / "ticks" / "hftbacktest"
LEAN = SHARED / "minute" / "lean"
START_NS = 1_723_161_255_000_000_000


def replayed(home: Path, *words: str, seconds: float) -> dict[str, Any]:
    out = home / "report.json"
    done = run_command(home, "replay", *words, "--json", str(out), "--port", str(free_ports(1)[0]), seconds=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ours_running(home) == []
    report: dict[str, Any] = json.loads(out.read_text())
    assert report["balanced"] is True
    return report


def write_tickers(path: Path, symbol: str, tops: list[tuple[float, float]]) -> None:
    """Write a raw feed of best bids and asks, one each 20 ms."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (bid, ask) in enumerate(tops):
        data = {"u": 1_000 + number, "s": symbol, "b": f"{bid:.2f}", "B": "1.5", "a": f"{ask:.2f}", "A": "1.5"}
        event = {"stream": f"{symbol.lower()}@bookTicker", "data": data}
        lines.append(f"{START_NS + number * 20_000_000} {json.dumps(event)}\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))


def test_a_recording_of_our_own_is_traded_where_its_prices_cross(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    calm = [(60_000.0 + step % 7, 60_001.0 + step % 7) for step in range(600)]
    # from the third second to the ninth, buying on spot and selling the perpetual brings 40 bps before fees
    crossed = [(b + 242, a + 242) if 150 <= step < 450 else (b, a) for step, (b, a) in enumerate(calm)]
    spot, usdm = tmp_path / "spot" / "btcusdt_1.gz", tmp_path / "usdm" / "btcusdt_1.gz"
    write_tickers(spot, "BTCUSDT", calm)
    write_tickers(usdm, "BTCUSDT", crossed)
    report = replayed(home, str(spot), str(usdm), "--speed", "1", seconds=240)
    assert report["quotes_by_exchange"] == {"binance": 600, "binanceusdm": 600}
    assert report["opportunities"] >= 100
    assert report["arbitrages_by_end"].get("closed", 0) >= 1


@pytest.mark.soak
@pytest.mark.skipif(not HFTBACKTEST.exists(), reason="the recorded Binance feeds are not beside this checkout")
@pytest.mark.parametrize(("fee_bps", "speed", "opportunities"), [("10", "10", 0), ("0", "3", 224_963)])
def test_the_binance_recording(tmp_path: Path, fee_bps: str, speed: str, opportunities: int) -> None:
    """At 10 bps a side its widest gap, 11.6 bps, does not pay; at 0 nearly every quote makes an opportunity."""
    files = [str(path) for folder in ("spot", "usdm", "cm") for path in (HFTBACKTEST / folder).glob("*.gz")]
    report = replayed(new_home(tmp_path / "home"), *files, "--fee-bps", fee_bps, "--speed", speed, seconds=500)
    assert report["quotes_in"] == 113_265
    assert report["opportunities"] == opportunities
    assert (report["arbitrages_by_end"].get("closed", 0) > 0) is (opportunities > 0)


@pytest.mark.skipif(not LEAN.exists(), reason="the recorded minute quotes are not beside this checkout")
@pytest.mark.soak
def test_the_minute_quotes_with_real_fx(tmp_path: Path) -> None:
    files = [str(LEAN / "coinbase" / pair / "20180404_quote.zip") for pair in ("btcusd", "btceur")]
    files += [str(path) for path in sorted((LEAN / "fxcm" / "eurusd").glob("*_quote.zip"))]
    report = replayed(new_home(tmp_path / "home"), *files, seconds=500)
    assert report["opportunities"] == 809
    assert report["arbitrages_by_end"].get("closed", 0) > 0
