"""Spark in the backtest commands: silent on the terminal, and stopped with the command."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from backtest.detect.batch_session import MASTER, backtest_session
from cep.run_log import RunLogFormatter
from launch.setup.data_dir import backtest_log
from launch.supervisor.ctrl_c import signals_deferred, stderr_to


class TimedFormatter(RunLogFormatter):
    """Formats as on the terminal, with the time before it and the trace after it."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record)} {super().format(record)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


@contextmanager
def py4j_log_to(path: Path) -> Iterator[None]:
    """Log py4j's traces to `path`: the command itself reports a lost JVM in one sentence."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler, loggers = logging.FileHandler(path, delay=True), [logging.getLogger(name) for name in ("py4j", "cep")]
    handler.setFormatter(TimedFormatter())
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
def quiet_session(home: Path, master: str = MASTER, extra: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Open a `backtest_session` that logs to `backtest_log`. Raises CepCannotStartError."""
    with ExitStack() as stack:
        stack.enter_context(py4j_log_to(backtest_log(home)))
        with signals_deferred(), stderr_to(backtest_log(home)):
            spark = stack.enter_context(backtest_session(home, master, extra=extra))
        yield spark
