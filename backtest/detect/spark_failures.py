"""What it looks like from here that a job of Spark failed, or that its JVM is gone in the middle of it."""

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

LOST = (Py4JError, PySparkException, ConnectionError, EOFError, pa.ArrowException)
"""To be caught around Spark's jobs alone. An answer that breaks off is an end of file, or no table of Arrow's."""


def first_words(text: str) -> str:
    """The first line of what an error says; some say nothing."""
    return next(iter(text.splitlines()), "") or "without a word"
