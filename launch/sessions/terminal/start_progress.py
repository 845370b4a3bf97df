"""The progress of a start: how many parts are ready, and what it waits for."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from launch.sessions.terminal.terminal_line import Echo, TerminalLine
from launch.setup.data_dir import ready_file
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now

DRAW_SECONDS = 0.5
CELLS = 20
NAMES = 4
"""So many names of missing parts; the others are counted."""
LONGEST = {"cep": "Spark, which takes longest"}
"""What a part is for people."""


def start_words(ready: int, missing: Sequence[str], seconds: int) -> str:
    """Return a bar of the parts that are ready, and the names of those that are not."""
    total = ready + len(missing)
    filled = CELLS * ready // max(total, 1)
    bar = "█" * filled + "░" * (CELLS - filled)
    named = [LONGEST.get(name, name) for name in missing[:NAMES]]
    rest = f" and {len(missing) - NAMES} more" if len(missing) > NAMES else ""
    return f"{bar} {ready} of {total} parts ready, {seconds} s; waiting for {', '.join(named)}{rest}"


@asynccontextmanager
async def drawn_start(home: Path, names: Callable[[], tuple[str, ...]], echo: Echo) -> AsyncIterator[None]:
    """Draw the progress while the block lasts; nothing without a terminal. `names`: of the parts, which report ready in
    `home`."""
    if not isinstance(echo, TerminalLine):
        yield
        return
    drawing = asyncio.create_task(_draw(home, names, echo))
    try:
        yield
    finally:
        drawing.cancel()
        await asyncio.gather(drawing, return_exceptions=True)
        echo.clear()


async def _draw(home: Path, names: Callable[[], tuple[str, ...]], line: TerminalLine) -> None:
    began = steady_now()
    while True:
        known = names()
        missing = [name for name in known if not ready_file(home, name).exists()]
        if missing:
            seconds = (steady_now() - began) // MICROSECONDS
            line.show(start_words(len(known) - len(missing), missing, seconds))
        await SystemClock().sleep(DRAW_SECONDS)
