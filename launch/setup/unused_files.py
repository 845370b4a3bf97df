"""Files of the installed packages that nothing here can use: a fifth of the environment. Uses the standard library
alone."""

import shutil
from pathlib import Path

_OF_SPARK = (
    # machine learning and graphs
    *("spark-mllib*", "spark-graphx*", "breeze*", "spire*", "cats-kernel*", "algebra*", "lapack*", "arpack*", "blas*"),
    *("JTransforms*", "JLargeArrays*"),
    # Hive's catalogue (`spark.sql.catalogImplementation` is in-memory); ORC needs hive-storage-api
    *("spark-hive*", "hive-[!s]*", "hive-se*", "hive-sh*", "datanucleus*", "derby*"),
    # other systems' encryption
    *("netty-tcnative-*-osx-*", "netty-tcnative-*-windows-*"),
    # clients by gRPC, and Scala's shell
    *("spark-connect_*", "spark-repl*", "scala-compiler*"),
)
UNUSED = (
    *(f"pyspark/jars/{name}.jar" for name in _OF_SPARK),
    *("pyspark/examples", "pyspark/ml", "pyspark/mllib", "pyspark/pandas"),
    # Arrow over gRPC, and what C++ is compiled with
    *("pyarrow/libarrow_flight*", "pyarrow/_flight*", "pyarrow/libarrow_python_flight*", "pyarrow/include"),
    # their own tests
    *("pandas/tests", "numpy/**/tests", "numba/**/tests", "pyarrow/tests", "matplotlib/tests", "mpl_toolkits/**/tests"),
)
"""Patterns below `site-packages`."""


def remove_unused(packages: Path) -> None:
    for pattern in UNUSED:
        for path in list(packages.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
