"""One Spark session for all tests of this folder; nothing in it needs Kafka."""

import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from cep.spark_session import spark_session, stop_at_once


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    # a folder such as people have
    started = spark_session((), tmp_path_factory.mktemp("a data folder"), extra={"spark.master": "local[2]"})
    yield started
    stop_at_once(started)
