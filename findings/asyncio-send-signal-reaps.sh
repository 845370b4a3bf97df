#!/usr/bin/env bash
# CPython 3.11's asyncio: a signal to a child that is about to end can cost its exit code; 255 is told instead.
#
# `Process.send_signal` first asks whether the child lives, by `Popen.poll`, which reaps one that has just ended. The event loop
# waits for the same child elsewhere, finds none ("Unknown child process pid …, will report returncode 255"), and
# `await process.wait()` says 255 of a program that ended with 3. A supervisor takes an orderly end for a failure.
# It is a race, so many children are tried. Output seen: "child 28: wait() says 255, the program ended with 3".
set -euo pipefail
python3 - <<'PYTHON'
import asyncio
import contextlib
import logging
import sys
from asyncio.subprocess import PIPE

logging.disable(logging.CRITICAL)


async def first_lost(tries: int) -> int | None:
    """Number of the first child whose exit code was lost."""
    for number in range(1, tries + 1):
        child = await asyncio.create_subprocess_exec("sh", "-c", "exit 3", stdout=PIPE)
        assert child.stdout is not None
        await child.stdout.read()  # its end is a moment away
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(0)
        code = await asyncio.wait_for(child.wait(), 10)
        if code != 3:
            print(f"child {number}: wait() says {code}, the program ended with 3")
            assert code == 255
            return number
    return None


if sys.version_info[:2] != (3, 11):
    print(f"not tried: it is about CPython 3.11, here is {sys.version.split()[0]}")
    raise SystemExit(0)
assert asyncio.run(first_lost(5_000)) is not None, "no exit code was lost in 5,000 children"
PYTHON
