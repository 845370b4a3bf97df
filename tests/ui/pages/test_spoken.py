"""Names and reasons in a trader's words: the same in Python and in the live panels."""

import re

from ui.pages.own_component import FOLDER
from ui.pages.spoken import EXCHANGES, exchange_name, pair_words, reason_words


def test_the_live_panels_call_the_exchanges_the_same() -> None:
    names = (FOLDER / "assets/format.js").read_text().partition("const NAMES = {")[2].partition("}")[0]
    assert dict(re.findall(r'(\w+): "(\w+)"', names)) == EXCHANGES


def test_what_has_no_name_keeps_its_own() -> None:
    assert exchange_name("alpha") == "alpha"
    assert pair_words("bitflyer → alpha") == "bitFlyer → alpha"
    assert pair_words("kraken") == "Kraken"
    assert reason_words("too_many_open") == "too many open"
