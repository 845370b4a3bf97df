#!/usr/bin/env bash
# ccxt 4.5.90: a Coinbase Exchange market that takes cancels alone is `active`.
#
# The manual says of a market's `active` that it tells whether trading is enabled. For Coinbase Exchange ccxt makes it from the
# product's `status` alone. The exchange says in fields beside it what a product takes: `cancel_only`, `post_only`,
# `trading_disabled`, `auction_mode`; its `status` stays "online" meanwhile. Kraken's `status` is itself "cancel_only", so
# there the same state makes a market inactive. Who relies on `active` goes on sending orders that are all turned away.
# Output seen: "coinbaseexchange cancel_only: active True", "coinbaseexchange trading_disabled: active True",
# "kraken cancel_only: active False".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import ccxt

# a row of GET /products as the exchange documents it
product = {
    "id": "BTC-USD", "base_currency": "BTC", "quote_currency": "USD", "quote_increment": "0.01",
    "base_increment": "0.00000001", "display_name": "BTC-USD", "min_market_funds": "1", "margin_enabled": False,
    "post_only": False, "limit_only": False, "cancel_only": False, "status": "online", "status_message": "",
    "trading_disabled": False, "fx_stablecoin": False, "auction_mode": False,
}
seen = {}
for field in ("cancel_only", "trading_disabled"):
    coinbase = ccxt.coinbaseexchange()
    coinbase.publicGetProducts = lambda params={}, field=field: [{**product, field: True}]
    [market] = coinbase.fetch_markets()
    seen[field] = market["active"]
    print(f"coinbaseexchange {field}: active", market["active"])

# a row of GET /0/public/AssetPairs
pair = {
    "altname": "XBTUSD", "wsname": "XBT/USD", "aclass_base": "currency", "base": "XXBT", "aclass_quote": "currency",
    "quote": "ZUSD", "lot": "unit", "cost_decimals": 5, "pair_decimals": 1, "lot_decimals": 8, "lot_multiplier": 1,
    "leverage_buy": [], "leverage_sell": [], "fees": [[0, 0.4]], "fees_maker": [[0, 0.25]], "fee_volume_currency": "ZUSD",
    "margin_call": 80, "margin_stop": 40, "ordermin": "0.00005", "costmin": "0.5", "tick_size": "0.1",
    "status": "cancel_only",
}
kraken = ccxt.kraken()
kraken.publicGetAssetPairs = lambda params={}: {"error": [], "result": {"XXBTZUSD": pair}}
kraken.options["fetchMarkets"] = {**kraken.options.get("fetchMarkets", {}), "adjustForTimeDifference": False}
kraken.currencies = kraken.currencies or {}
kraken.currencies_by_id = {"XXBT": {"precision": 1e-10, "code": "BTC"}, "ZUSD": {"precision": 1e-4, "code": "USD"}}
kraken.fetch_currencies = lambda params={}: {}
[listed] = kraken.fetch_markets()
print("kraken cancel_only: active", listed["active"])
assert listed["active"] is False
assert seen == {"cancel_only": True, "trading_disabled": True}, "a product's own fields are read now"
PYTHON
