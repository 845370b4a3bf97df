"""A user's own transfer terms: read from the file, rejected in one sentence, known ones kept."""

from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.catalogue import known_transfers
from launch.config.configuration import read_configuration
from launch.config.transfers import session_transfers
from launch.errors import CannotStartError
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import terms_of
from session.session import SimulatedNetworks


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "arbitrage.toml"
    path.write_text(text)
    return path


def test_terms_of_the_file_replace_the_known_ones(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '[transfers.kraken.BTC]\nfee = "0.0001"\nminimum = "0.002"\nminutes = 30\n[transfers.kraken.EUR]\nfee = 12.5\n',
    )
    terms = terms_of(session_transfers(read_configuration(file, {}).transfers))
    mine = terms["kraken", "BTC"]
    assert (mine.fee, mine.minimum, mine.seconds) == (Decimal("0.0001"), Decimal("0.002"), 1_800)
    assert "configuration" in mine.source
    assert terms["kraken", "EUR"].fee == Decimal("12.5")
    assert len(terms) == len(known_transfers()) + 1
    known = terms_of(known_transfers())
    assert terms["bitstamp", "EUR"] == known["bitstamp", "EUR"]
    assert mine.step == known["kraken", "BTC"].step


def test_transfers_are_off_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    nothing = read_configuration(written(tmp_path, ""), {}).transfers
    assert not nothing.rules(is_live=False).is_on
    assert not nothing.rules(is_live=True).is_on
    file = written(
        tmp_path,
        '[transfers]\npaper = true\nevery_minutes = 0.5\ntolerance = 0.02\ntarget = "even"\nspeed = 60\n'
        "returned_share = 0.1\nclosed_share = 0.2\n[transfers.kraken.BTC]\nfee = 0.0001\n",
    )
    read = read_configuration(file, {}).transfers
    assert read.rules(is_live=False) == TransferRules(True, 30, Decimal("0.02"), "even")
    assert not read.rules(is_live=True).is_on
    assert read.networks == SimulatedNetworks(60.0, 0.1, 0.2)
    assert terms_of(session_transfers(read))["kraken", "BTC"].fee == Decimal("0.0001")


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("[transfers]\npapr = true", "transfers.papr"),
        ("[transfers]\nevery_minutes = 0", "transfers.every_minutes"),
        ("[transfers]\nreturned_share = 2", "transfers.returned_share"),
        ("[transfers]\nspeed = 0", "transfers.speed"),
        ('[transfers.kraken.BTC]\nfee = "-1"', "transfers.kraken.BTC.fee"),
        ('[transfers.kraken.BTC]\nminimum = "1"', "transfers.kraken.BTC.fee"),
        ('[transfers.kraken.BTC]\nfee = "2"\nminimum = "1"', "minimum must not be below the fee"),
        ('[transfers.kraken.BTC]\nfee = "1"\nhours = 1', "there is no such setting"),
    ],
)
def test_terms_that_cannot_be_are_rejected_in_one_sentence(tmp_path: Path, text: str, reported: str) -> None:
    with pytest.raises(CannotStartError, match=reported) as rejected:
        read_configuration(written(tmp_path, text), {})
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('[transfers.krakn.BTC]\nfee = "1"', r"^\[transfers.krakn\]: krakn is not traded, only .*kraken"),
        ('[transfers.kraken.btc]\nfee = "1"', r"^\[transfers.kraken\]: kraken has no btc, only BTC, USD"),
        ('[transfers.bitstamp.JPY]\nfee = "1"', "bitstamp has no JPY"),
    ],
)
def test_terms_of_what_nobody_could_send_are_rejected(tmp_path: Path, text: str, reported: str) -> None:
    configured = read_configuration(written(tmp_path, text), {})
    with pytest.raises(CannotStartError, match=reported):
        session_transfers(configured.transfers)
