"""What Spark's driver remembers of what has ended is bounded: detection runs for weeks in one JVM."""

import subprocess
import sys

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


def test_detection_imports_no_library_for_columns() -> None:
    """Arrow, NumPy and pandas take 50 MB, and detection runs beside a dozen other parts."""
    unwanted = {"pyarrow", "numpy", "pandas"}
    looked = f"import sys, cep.detection.job; print(*({unwanted} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
