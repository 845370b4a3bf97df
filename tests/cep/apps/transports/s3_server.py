"""A real server of S3's protocol on loopback: moto's, which has an environment of its own, if this machine has it."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.clock import steady_now

_OWN = Path(__file__).resolve().parents[4] / ".tools" / "moto" / "bin"
PROGRAM = shutil.which("moto_server", path=str(_OWN)) or shutil.which("moto_server")
LIMIT_SECONDS = 60


@contextmanager
def s3_server() -> Iterator[str]:
    """Return its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert PROGRAM is not None
    process = subprocess.Popen(
        [PROGRAM, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = steady_now() + LIMIT_SECONDS * 1_000_000
        while not _answers(port):
            assert process.poll() is None
            assert steady_now() < until
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False
