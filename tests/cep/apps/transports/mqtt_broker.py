"""A real broker of MQTT on loopback: mosquitto, if this machine has it."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
LIMIT_SECONDS = 30.0


@dataclass(slots=True)
class Broker:
    """`settings`: lines of its file. What it keeps for clients that are away outlives its kill."""

    folder: Path
    port: int
    settings: tuple[str, ...] = ("allow_anonymous true",)
    process: asyncio.subprocess.Process | None = field(default=None)

    async def start(self) -> None:
        path = self.folder / "mosquitto.conf"
        own = (
            f"listener {self.port} 127.0.0.1",
            "persistence true",
            f"persistence_location {self.folder}/",
            # each change at once, so that a kill loses none
            "autosave_on_changes true",
            "autosave_interval 1",
            "log_dest none",
        )
        path.write_text("\n".join((*own, *self.settings, "")))
        assert PROGRAM is not None
        self.process = await asyncio.create_subprocess_exec(PROGRAM, "-c", str(path))
        async with asyncio.timeout(LIMIT_SECONDS):
            while not _answers(self.port):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def broker(folder: Path, *settings: str) -> AsyncIterator[Broker]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    made = Broker(folder, port, settings or ("allow_anonymous true",))
    await made.start()
    try:
        yield made
    finally:
        await made.kill()


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
