"""A real mail server on loopback, as far as one message needs it: it keeps what it got and answers as told."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

ANSWERS = {
    "EHLO": "250 mail",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    ".": "250 taken",
    "QUIT": "221 bye",
}


@dataclass(slots=True)
class MailServer:
    """`answers` in place of those of ANSWERS, by the command's first word; `.` ends a mail. None: no answer ever."""

    answers: Mapping[str, str | None] = field(default_factory=dict)
    port: int = 0
    commands: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n")
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            word = line.split(" ", 1)[0].upper()
            if not await self._answer(writer, word):
                return
            if word == "DATA" and self._said("DATA").startswith("354"):
                body = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append(body.decode().removesuffix("\r\n.\r\n"))
                await self._answer(writer, ".")
            if word == "QUIT":
                break
        writer.close()

    def _said(self, word: str) -> str:
        return self.answers.get(word, ANSWERS.get(word, "502 not known")) or ""

    async def _answer(self, writer: asyncio.StreamWriter, word: str) -> bool:
        if not self._said(word):
            await self.ended.wait()
            writer.close()
            return False
        writer.write(f"{self._said(word)}\r\n".encode())
        await writer.drain()
        return True


@asynccontextmanager
async def mail_server(answers: Mapping[str, str | None] | None = None) -> AsyncIterator[MailServer]:
    running = MailServer(answers or {})
    server = await asyncio.start_server(running.serve, "127.0.0.1", 0)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        running.ended.set()
        server.close()
        await server.wait_closed()
