"""A JVM that is gone ends a command with a sentence: no thread and no log of ours leaves a trace."""

import logging
import threading
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

from backtest.detect.spark_failures import LOST, first_line
from backtest.detect.spark_progress import jobs_with_progress
from launch.supervisor.spark_command import py4j_log_to


class GoneTracker:
    """The tracker of a session whose JVM was killed."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = threading.Event()

    @property
    def sparkContext(self) -> "GoneTracker":  # noqa: N802 - Spark's own name
        return self

    def statusTracker(self) -> "GoneTracker":  # noqa: N802
        return self

    def getActiveStageIds(self) -> list[int]:  # noqa: N802
        self.asked.set()
        raise self.error


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer from Java side is empty"), Py4JError("gone"), ConnectionRefusedError(111)]
)
def test_who_watches_a_job_ends_with_the_jvm(error: Exception) -> None:
    """If its thread ended by the error, pytest would make this test fail."""
    gone = GoneTracker(error)
    with jobs_with_progress(cast("SparkSession", gone), lambda _: None):
        assert gone.asked.wait(60)


def test_what_py4j_notes_goes_into_the_log_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "logs" / "spark.log"
    with py4j_log_to(log):
        try:
            raise ConnectionRefusedError("gone")
        except ConnectionRefusedError:
            logging.getLogger("py4j.java_gateway").exception("An error occurred while trying to connect")
        logging.getLogger("cep.spark_session").warning("the JVM did not stop by itself")
    assert "Traceback" in log.read_text()
    assert "did not stop" in log.read_text()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "error", [Py4JNetworkError(), ConnectionResetError(104, "reset"), EOFError(), pa.ArrowInvalid("Expected to read")]
)
def test_an_answer_that_breaks_off_is_a_lost_spark(error: Exception) -> None:
    with pytest.raises(LOST):
        raise error
    assert first_line(str(error))
    assert "\n" not in first_line(str(error))
