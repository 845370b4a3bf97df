"""The whole application with Streamlit's pages in a process of its own, if reading needs a key; without Kafka.

`python -m tests.ui.keyed_pages HOME MONGODB DATABASE [PORT]` says its address once it serves; it ends with its input.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from launch.supervisor.process_main import log_events
from session.access_terms import AccessTerms
from tests.ui.api.listening import listening
from tests.ui.samples import session_of
from ui.server.application import build_app


async def serve(home: str, mongodb: str, database: str, port: str = "0") -> None:
    log_events()
    session = replace(
        session_of(Path(home), mongodb, database),
        page=replace(session_of(Path(home), mongodb, database).page, access=AccessTerms(require_key=True)),
    )
    async with listening(build_app(session), int(port)) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
