"""Answers that real exchanges gave, recorded by others, and a loopback exchange that gives one of them to everybody."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "wire"

# The largest are books of thousands of levels, whose shape the small ones have too.
_LONGEST = 20_000


def recorded_bodies(*folders: str) -> list[tuple[str, str]]:
    """Name and text of each JSON document in these folders, several of one file apart."""
    if not FOLDER.exists():
        pytest.skip(f"{FOLDER} is not there")
    found = []
    for folder in folders:
        for path in sorted((FOLDER / folder).rglob("*.json")):
            found += [(f"{path.parent.name}/{path.name}", body) for body in _documents(path.read_text())]
    return found


def recorded_body(path: str) -> str:
    """One document."""
    if not (FOLDER / path).exists():
        pytest.skip(f"{FOLDER / path} is not there")
    return (FOLDER / path).read_text()


def routed_bodies(name: str) -> list[tuple[str, str]]:
    """Route and text of each answer in a file of requests and answers; every text once."""
    path = FOLDER / "gocryptotrader" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    found: dict[str, str] = {}
    for route, methods in json.loads(path.read_text())["routes"].items():
        for answers in methods.values():
            for answer in answers:
                found[json.dumps(answer["data"])] = route
    return [(route, body) for body, route in found.items() if len(body) < _LONGEST]


def _documents(text: str) -> Iterator[str]:
    """Yield the answers of a file: it may hold several in a row, and text that is not JSON is an answer, too."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest and len(rest) < _LONGEST:
        try:
            _, end = decoder.raw_decode(rest)
        except ValueError:
            end = len(rest)
        yield rest[:end]
        rest = rest[end:].strip()


@dataclass(slots=True)
class Parrot:
    """Says `body` to every request, but to those whose path contains a text of `by_path`."""

    url: str = ""
    status: int = 200
    body: str = ""
    by_path: dict[str, str] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        await request.read()
        body = next((body for text, body in self.by_path.items() if text in request.path), self.body)
        return web.Response(text=body, status=self.status, content_type="application/json")


@asynccontextmanager
async def parrot() -> AsyncIterator[Parrot]:
    """Yield a parrot that is served on a free loopback port."""
    bird, application = Parrot(), web.Application()
    application.router.add_route("*", "/{anything:.*}", bird.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        bird.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield bird
    finally:
        await runner.cleanup()
