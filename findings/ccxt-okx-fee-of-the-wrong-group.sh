#!/usr/bin/env bash
# ccxt 4.5.90, okx: fetch_trading_fee gives one rate for all spot markets, whatever group of fees a market is in.
# OKX answers /api/v5/account/trade-fee with `feeGroup`, rates by the `groupId` that each instrument names; `taker` beside
# it is deprecated and of one group. ccxt reads that one alone (else `takerU`): a market of another group is costed wrong.
# Expected output: in group 4 at 0.0015: ccxt says 0.001
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import ccxt

groups = [{"groupId": "1", "maker": "-0.0008", "taker": "-0.001"}, {"groupId": "4", "maker": "-0.001", "taker": "-0.0015"}]
answer = {"instType": "SPOT", "level": "Lv1", "maker": "-0.0008", "taker": "-0.001", "feeGroup": groups, "ts": "1639043138472"}
exchange = ccxt.okx()
row = {"instType": "SPOT", "instId": "BTC-EUR", "baseCcy": "BTC", "quoteCcy": "EUR", "groupId": "4", "state": "live"}
row |= {"tickSz": "0.1", "lotSz": "0.00000001", "minSz": "0.00001", "maxLmtSz": "1"}
market = exchange.parse_market(row)
exchange.set_markets([market])
exchange.privateGetAccountTradeFee = lambda request: {"code": "0", "data": [answer], "msg": ""}
fee = exchange.fetch_trading_fee("BTC/EUR")
print(f"in group {row['groupId']} at 0.0015: ccxt says {fee['taker']}")
assert fee["taker"] == 0.001, fee
PY
