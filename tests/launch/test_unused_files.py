"""What set-up removes of installed packages, and what it must leave."""

from pathlib import Path

from launch.setup.unused_files import remove_unused

GONE = (
    "pyspark/pandas/frame.py",
    "pyspark/jars/spark-mllib_2.13-4.3.0.jar",
    "pyspark/jars/hive-exec-2.3.10-core.jar",
    "pyspark/jars/spark-connect_2.13-4.3.0.jar",
    "pyspark/jars/derby-10.16.1.1.jar",
    "pyarrow/libarrow_flight.so.2600",
    "numpy/linalg/tests/test_linalg.py",
    "pandas/tests/frame/test_api.py",
)
LEFT = (
    # the driver of a backtest with a master in Kubernetes
    "pyspark/jars/spark-kubernetes_2.13-4.3.0.jar",
    "pyspark/jars/kubernetes-client-7.6.1.jar",
    "pyspark/jars/kubernetes-model-core-7.6.1.jar",
    "pyspark/jars/kubernetes-httpclient-vertx-7.6.1.jar",
    "pyspark/jars/vertx-core-4.5.26.jar",
    "pyspark/jars/volcano-client-7.6.1.jar",
    # ORC's, which Spark SQL loads
    "pyspark/jars/hive-storage-api-2.8.1.jar",
    # state of real-time mode
    "pyspark/jars/rocksdbjni-9.8.4.jar",
    "pyspark/jars/netty-tcnative-boringssl-static-2.0.76.Final-linux-x86_64.jar",
    "pyspark/sql/pandas/types.py",
    "pyspark/jars/spark-connect-common_2.13-4.3.0.jar",
    "pyspark/jars/scala-reflect-2.13.18.jar",
    "pyarrow/libarrow.so.2600",
    "numpy/testing/__init__.py",
    "pandas/testing.py",
)


def test_only_what_nothing_here_uses_is_removed_and_again_changes_nothing(tmp_path: Path) -> None:
    for name in (*GONE, *LEFT):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for _ in range(2):
        remove_unused(tmp_path)
        assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(LEFT)
