"""Detection over recordings: what a plain loop says, for every cut of the files and any number of pieces."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from backtest.detect.batch_detection import detection_summary
from backtest.detect.batch_session import backtest_session
from backtest.detect.detected_messages import detected
from backtest.detect.workers import ThisProcess
from tests.backtest.detected_sets import (
    Cut,
    messages_found,
    messages_of_set,
    messages_wanted,
    recut,
    without_offsets,
)
from tests.backtest.detection_recordings import RECORDINGS, settings_for
from tests.cep.detection.oracle import expected_output
from tests.cep.logs import session
from tick_sets.sets.schema import ROW_GROUP_ROWS

pytestmark = pytest.mark.soak

CUTS = (Cut(1, ROW_GROUP_ROWS), Cut(1, 4_099), Cut(5, 997))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    with backtest_session(tmp_path_factory.mktemp("home"), "local[2]") as started:
        yield started


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_gives_what_a_plain_loop_gives(spark: SparkSession, tmp_path: Path, name: str) -> None:
    tick_set = RECORDINGS[name](tmp_path / name)
    own, currency = settings_for(tick_set), tick_set.manifest.settlement_currency
    here = replace(session(), markets=tick_set.manifest.markets, settlement_currency=currency)
    wanted = without_offsets(messages_wanted(list(expected_output(messages_of_set(tick_set, own), here)), currency))
    ids = {message["opportunity_id"] for messages in wanted.values() for message in messages}
    assert len(ids) > 100
    for number, cut in enumerate(CUTS):
        other = recut(tick_set, cut, tmp_path / f"{name}-{number}")
        for pieces in (1, 2, 7):
            assert without_offsets(messages_found(detected(spark, other, own, pieces))) == wanted
            assert detection_summary(ThisProcess(), other, own, pieces).opportunities == len(ids)
