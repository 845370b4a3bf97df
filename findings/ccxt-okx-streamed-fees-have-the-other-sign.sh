#!/usr/bin/env bash
# ccxt 4.5.90, okx: the fee of one and the same fill is positive from fetch_my_trades and negative from watch_my_trades.
# OKX sends what it charges with a minus. ccxt turns the sign round for fills by REST (parse_trade), and leaves it as it
# is for fills of the stream (order_to_trade): a program that sums fees of both takes a charge for a rebate.
# Expected output: rest 0.000007533 ETH, stream -0.000007533 ETH
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import ccxt.pro

exchange = ccxt.pro.okx()
charged = {"fee": "-0.000007533", "feeCcy": "ETH"}
fill = {"instType": "SPOT", "instId": "ETH-USDT", "side": "buy", "tradeId": "107601752", "ordId": "1", "execType": "T"}
rest = exchange.parse_trade({**fill, **charged, "fillSz": "0.007533", "fillPx": "2654.98", "ts": "1621927314985"})
order = {**fill, **charged, "ordType": "limit", "state": "filled", "sz": "0.007533", "accFillSz": "0.007533"}
order |= {"fillSz": "0.007533", "fillPx": "2654.98", "fillTime": "1621927314985", "cTime": "1621927314985"}
order |= {"fillFee": charged["fee"], "fillFeeCcy": charged["feeCcy"]}
stream = exchange.order_to_trade(exchange.parse_order(order))
seen = [float(one["fee"]["cost"]) for one in (rest, stream)]
print(f"rest {seen[0]:.9f} ETH, stream {seen[1]:.9f} ETH")
assert seen == [0.000007533, -0.000007533], seen
PY
