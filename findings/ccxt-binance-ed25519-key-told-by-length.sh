#!/usr/bin/env bash
# ccxt 4.5.90, binance: an Ed25519 private key signs as a file of Unix has it, and raises TypeError as one of Windows has it.
# ccxt tells RSA keys from Ed25519 keys by the length of the text (more than 120 characters). The PEM of an Ed25519 key has
# 119 with a line feed after each of its three lines; with a carriage return before each of them it has 122, and ccxt
# signs with RSA's arguments. Both are the same key: PEM allows either end of a line (RFC 7468, section 3).
# Expected output: 119 characters: signed; 122 characters: TypeError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import ccxt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

key = Ed25519PrivateKey.generate()
unix = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
windows = unix.replace("\n", "\r\n")
assert load_pem_private_key(windows.encode(), None).public_key() == key.public_key()
seen = []
for text in (unix, windows):
    exchange = ccxt.binance({"apiKey": "key", "secret": text})
    try:
        exchange.sign("order", ["private"], "POST", {"symbol": "BTCUSDT"})
        outcome = "signed"
    except TypeError:
        outcome = "TypeError"
    seen.append(f"{len(text)} characters: {outcome}")
print("; ".join(seen))
assert seen == ["119 characters: signed", "122 characters: TypeError"], seen
PY
