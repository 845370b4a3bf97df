"""What a feeder's process loads: ccxt would cost each a second and a hundred megabytes."""

import subprocess
import sys


def test_a_feeder_needs_no_ccxt() -> None:
    code = "import sys, pricefeeds.feed.feeder; print([name for name in sys.modules if name.split('.')[0] == 'ccxt'])"
    said = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "[]\n"
