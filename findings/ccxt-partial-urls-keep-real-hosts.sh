#!/usr/bin/env bash
# ccxt 4.5.90: addresses that are given for a part of an exchange leave the rest at the real exchange.
#
# `ccxt.kraken({'urls': {'api': {'public': …}}})` reads as "these are the addresses". ccxt merges the two tables at every
# depth, so a client for a test server that names `public` alone sends its signed requests to the real exchange.
# Output seen: "public http://127.0.0.1:9", "private https://api.kraken.com".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import ccxt

addresses = ccxt.kraken({"urls": {"api": {"public": "http://127.0.0.1:9"}}}).urls["api"]
print("public", addresses["public"])
print("private", addresses["private"])
assert addresses["public"] == "http://127.0.0.1:9"
assert addresses["private"].startswith("https://api.kraken.com"), "the rest is no longer the real exchange's"
PYTHON
