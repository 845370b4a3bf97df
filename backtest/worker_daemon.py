"""The process that Spark forks its Python workers from: it has loaded what every one of them needs.

Spark starts it as `python -m backtest.worker_daemon` (`spark.python.daemon.module`). Loading numpy, Arrow, numba and
the kernel's machine code takes a second of processor time, which each worker would spend again.
"""

from pyspark.daemon import manager

from backtest.detection_task import DetectionTask
from cep.kernel_log import load_kernel

TASK = DetectionTask
"""What the workers will be sent."""

if __name__ == "__main__":
    load_kernel()
    manager()
