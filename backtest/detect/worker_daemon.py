"""The process that Spark forks its Python workers from: it has loaded what every one of them needs.

Spark starts it as `python -m backtest.detect.worker_daemon` (`spark.python.daemon.module`). Loading numpy, Arrow,
numba and the kernel's machine code takes a second of processor time, which each worker would spend again.
"""

import gc

from pyspark.daemon import manager

from backtest.detect.detection_task import DetectionTask
from backtest.detect.garbage import MOST_YOUNG
from cep.detection.kernel.log import load_kernel

TASK = DetectionTask
"""What the workers will be sent, imported here once for all of them."""

if __name__ == "__main__":
    load_kernel()
    gc.set_threshold(MOST_YOUNG)
    manager()
