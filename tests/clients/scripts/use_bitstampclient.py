"""BitstampClient: what needs no keys comes; what it signs, it signs in the form, which no document has any more."""

import json
import sys
from pathlib import Path

import requests
from bitstamp.client import Public, Trading

settings = json.loads(Path(sys.argv[1]).read_text())["bitstamp"]
url = settings["urls"]["api"]["public"]
Public.api_url = {1: f"{url}/", 2: f"{url}/v2/"}
keys = (settings["uid"], settings["apiKey"], settings["secret"])
book = Public().order_book(base="btc", quote="eur")
try:
    Trading(*keys).account_balance(base="btc", quote="eur")
    refused = ""
except requests.HTTPError as error:
    refused = "" if error.response is None else error.response.text
print(json.dumps({"levels": len(book["bids"]), "refused": refused}))
