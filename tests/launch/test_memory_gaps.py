"""What is free between the objects of a process is filled, so that forks put theirs into pages of their own."""

import subprocess
import sys

LOOKED = """
import json
from launch.supervisor.memory_gaps import fill_gaps, free_blocks

sparse = [bytes(size) for size in range(1, 470) for _ in range(500)][::7]
before = sum(size * free for size, free in free_blocks())
kept = fill_gaps()
after = sum(size * free for size, free in free_blocks())
print(json.dumps([before, after, len(kept)]))
"""


def test_little_is_left_free() -> None:
    """In a process of its own: others' objects would come and go beside the measurement."""
    done = subprocess.run([sys.executable, "-c", LOOKED], capture_output=True, text=True, check=True)
    before, after, classes = map(int, done.stdout.strip("[]\n").split(","))
    assert before > 1_000_000
    assert after < before // 10
    assert classes > 10
    assert done.stderr == ""
