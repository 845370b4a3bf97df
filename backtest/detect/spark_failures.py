"""The exceptions of a failed Spark job, or of a JVM that died in the middle of one."""

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tick_sets.errors import ImportRejectedError

LOST = (Py4JError, PySparkException, ConnectionError, EOFError, pa.ArrowException)
"""Catch them only around Spark's jobs. A truncated response is an EOFError or an Arrow exception."""
REJECTED = f"{ImportRejectedError.__module__}.{ImportRejectedError.__qualname__}: "
"""Prefix of a worker's error line that names an unreadable file."""


def first_line(text: str) -> str:
    """Return the first line of an error message; some are empty."""
    return next(iter(text.splitlines()), "") or "no message"


def spark_words(text: str) -> str:
    """Return the error of our own worker, or the first line of Spark's."""
    own = [line.partition(": ")[2] for line in text.splitlines() if line.startswith(REJECTED)]
    return own[-1] if own else first_line(text)
