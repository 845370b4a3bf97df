"""The exceptions of a failed Spark job, or of a JVM that died in the middle of one."""

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

LOST = (Py4JError, PySparkException, ConnectionError, EOFError, pa.ArrowException)
"""Catch them only around Spark's jobs. A truncated response is an EOFError or an Arrow exception."""


def first_line(text: str) -> str:
    """Return the first line of an error message; some are empty."""
    return next(iter(text.splitlines()), "") or "no message"
