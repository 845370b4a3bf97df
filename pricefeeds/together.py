"""Several things at once, of which the first that fails ends the others."""

import asyncio
from collections.abc import Coroutine


async def together(*parts: Coroutine[object, object, None]) -> None:
    """Until all have ended; raises what the first to fail raised, once the others are cancelled and gone."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except ExceptionGroup as failures:
        raise _first_of(failures) from None


def _first_of(failures: ExceptionGroup[Exception]) -> Exception:
    """What fails behind the first fails because of it."""
    first = failures.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first
