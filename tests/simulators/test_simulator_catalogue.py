"""Each simulated exchange is a folder and a line."""

from importlib import import_module
from pathlib import Path

import pytest

import exchanges.catalogue
from simulators.catalogue import EXCHANGES, terms_of
from simulators.web.exchange_gateway import SimulatedGateway

ROOT = Path(__file__).parents[2] / "simulators"


def test_every_folder_of_an_exchange_is_in_the_catalogue_and_whole() -> None:
    assert {path.parent.name for path in ROOT.glob("*/gateway.py")} == set(EXCHANGES)
    for name in EXCHANGES:
        assert terms_of(name).name == name
        assert isinstance(import_module(f"simulators.{name}.gateway").SIMULATED, SimulatedGateway)


def test_all_exchanges_with_a_folder_are_simulated() -> None:
    assert set(EXCHANGES) == set(exchanges.catalogue.EXCHANGES)


def test_no_other_exchange_is_simulated() -> None:
    with pytest.raises(KeyError):
        terms_of("mtgox")
