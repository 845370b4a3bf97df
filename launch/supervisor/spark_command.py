"""Spark in a backtest's commands: silent at a terminal, and gone with the command."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from backtest.detect.batch_session import MASTER, backtest_session
from launch.supervisor.clean_stop import said_to, signals_held_back


def spark_log(home: Path) -> Path:
    """What Spark says, in all runs one after the other."""
    return home / "logs" / "backtest-spark.log"


@contextmanager
def bridge_said_to(path: Path) -> Iterator[None]:
    """What is noted of a JVM that is gone, with py4j's traces: the command says it in one sentence."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler, loggers = logging.FileHandler(path, delay=True), [logging.getLogger(name) for name in ("py4j", "cep")]
    for one in loggers:
        one.addHandler(handler)
        one.propagate = False
    try:
        yield
    finally:
        for one in loggers:
            one.removeHandler(handler)
            one.propagate = True
        handler.close()


@contextmanager
def quiet_session(home: Path, master: str = MASTER) -> Iterator[SparkSession]:
    """`backtest_session` that says what it has to say in `spark_log`. Raises CepCannotStartError."""
    with ExitStack() as stack:
        stack.enter_context(bridge_said_to(spark_log(home)))
        with signals_held_back(), said_to(spark_log(home)):
            spark = stack.enter_context(backtest_session(home, master))
        yield spark
