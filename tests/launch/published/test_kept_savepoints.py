"""Savepoints of published apps in the data folder: by name, bounded, and never outside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.engine.savepoints import Savepoint
from launch.apps.savepoints import NotYetSavedError
from launch.errors import CannotStartError
from launch.published.kept_savepoints import MOST_KEPT, keep_savepoint, kept_savepoint, savepoint_names
from market.time_units import MICROSECONDS

SAVEPOINT = Savepoint("wide", "from quotes select bid insert into Bids;", "d", "log", 1_700_000_000_000_000, {0: b"a"})


def test_it_is_read_back_by_its_name(tmp_path: Path) -> None:
    assert keep_savepoint(tmp_path, SAVEPOINT) == "20231114T221320Z"
    assert kept_savepoint(tmp_path, "wide", "20231114T221320Z") == SAVEPOINT
    with pytest.raises(NotYetSavedError, match="a savepoint of this second; ask again in the next"):
        keep_savepoint(tmp_path, SAVEPOINT)


@pytest.mark.parametrize("name", ["", "20231114T221321Z", "../wide/20231114T221320Z", "x" * 300, "20231114T221320Z\n"])
def test_no_other_name_is_one(tmp_path: Path, name: str) -> None:
    keep_savepoint(tmp_path, SAVEPOINT)
    with pytest.raises(CannotStartError, match=r"has no savepoint .* the newest are: 20231114T221320Z"):
        kept_savepoint(tmp_path, "wide", name)


def test_there_are_not_too_many_of_one_app(tmp_path: Path) -> None:
    for number in range(MOST_KEPT):
        keep_savepoint(tmp_path, replace(SAVEPOINT, taken_at=SAVEPOINT.taken_at + number * MICROSECONDS))
    assert savepoint_names(tmp_path, "wide")[0] == "20231114T221409Z"
    with pytest.raises(CannotStartError, match="has 50 savepoints; remove some"):
        keep_savepoint(tmp_path, replace(SAVEPOINT, taken_at=1))
    assert keep_savepoint(tmp_path, replace(SAVEPOINT, app="other"))


@pytest.mark.parametrize("app", ["", "..", "../savepoints/wide", "*", "wide/", "nobody"])
def test_no_other_app_has_some(tmp_path: Path, app: str) -> None:
    keep_savepoint(tmp_path, SAVEPOINT)
    assert savepoint_names(tmp_path, app) == []
