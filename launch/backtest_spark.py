"""Spark in a backtest's commands: silent at a terminal, and gone with the command."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from backtest.spark import MASTER, backtest_session
from launch.stopping import said_to, signals_held_back


def spark_log(home: Path) -> Path:
    """What Spark says, in all runs one after the other."""
    return home / "logs" / "backtest-spark.log"


@contextmanager
def quiet_session(home: Path, master: str = MASTER) -> Iterator[SparkSession]:
    """`backtest_session` that says what it has to say in `spark_log`. Raises CepCannotStartError."""
    with ExitStack() as stack:
        with signals_held_back(), said_to(spark_log(home)):
            spark = stack.enter_context(backtest_session(home, master))
        yield spark
