"""What Spark's driver remembers of what has ended is bounded: detection runs for weeks in one JVM."""

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

BATCHES = 40
FEW = BATCHES // 2
"""More than are kept, since Spark drops the oldest a moment after each end."""


def test_jobs_and_plans_that_have_ended_are_forgotten(spark: SparkSession) -> None:
    for _ in range(BATCHES):
        assert spark.range(1).count() == 1
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    assert spark._jsparkSession.sharedState().statusStore().executionsCount() <= FEW
    assert context.statusStore().jobsList(None).size() <= FEW


LOOKED = """
import sys
from pathlib import Path
import cep.detection.job
from cep.spark_session import spark_session, stop_at_once

spark = spark_session((), Path(sys.argv[1]), extra={"spark.master": "local[1]"})
rows = spark.range(3).collect()
loaded = {"pyarrow", "numpy", "pandas"} & set(sys.modules)
stop_at_once(spark)
print(len(rows), *loaded)
"""


def test_detection_loads_no_library_for_columns(tmp_path: Path) -> None:
    """Arrow, NumPy and pandas take 40 MB of its own, beside a dozen other parts. Whoever starts Spark loads them."""
    command = (sys.executable, "-c", LOOKED, str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]
