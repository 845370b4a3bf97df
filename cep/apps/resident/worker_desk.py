"""What the process of an app's partition is asked by the one that runs it, over a pair of sockets: to begin and to end
apps, and what they have.

A request is a number of bytes (4, big endian) and a pickled `Asked`; an answer the same with JSON. A pickle is read
only from the process that started this one.
"""

import asyncio
import logging
import pickle
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from cep.apps.errors import AppError, AppFailedError, AppNotYetError
from cep.apps.hosts.app_messages import plain_json
from cep.apps.language.app_parser import parse_on_demand
from cep.apps.language.app_tree import Return
from cep.apps.language.errors import AppTextError
from cep.apps.language.query_parameters import constants_of
from cep.apps.resident.app_figures import AppFigures, SeenRow
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker import AppWorker

log = logging.getLogger("cep")

LENGTH_BYTES = 4
UNEXPECTED = (RuntimeError, OSError, AssertionError, SyntaxError, BufferError, EOFError, StopIteration, MemoryError)
"""What a query raises beside what the engine knows: a mistake of the program."""
MOST_WAITING = 4 * 1024**2
"""Bytes of rows for one who follows and does not read: rows beyond are left out for him."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`number`: that the answer has too. `place`: of the app. `values`: of names in a query, each a type and a text."""

    number: int
    do: str
    place: int = -1
    placed: PlacedApp | None = None
    text: str = ""
    last: int = 0
    may_write: bool = False
    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class DeskRefusedError(AppError):
    """What was asked is not done. `kind`: as in `runtime.app_door.Refusal`."""

    def __init__(self, problem: str, kind: str) -> None:
        super().__init__(problem)
        self.kind = kind


class WorkerDesk:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unfollow: dict[int, Callable[[], None]] = {}

    async def serve(self, worker: AppWorker) -> None:
        """Answer until the other side has gone."""
        reader, writer = await asyncio.open_connection(sock=self._connection)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(LENGTH_BYTES))
                # from the process that started this one, over a pair of sockets that nobody else has
                asked: Asked = pickle.loads(await reader.readexactly(size))  # noqa: S301
                answer = await self._answer(worker, asked, writer)
                writer.write(framed(_encoded(asked, answer)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, worker: AppWorker, asked: Asked, writer: asyncio.StreamWriter) -> Mapping[str, Any]:
        try:
            return {"is": await self._done(worker, asked, writer)}
        except AppTextError as error:
            return {"error": error.problem, "kind": "mistake", "line": error.at.line, "column": error.at.column}
        except DeskRefusedError as error:
            return {"error": str(error), "kind": error.kind}
        except AppFailedError as error:
            return {"error": str(error), "kind": "failed"}
        except AppNotYetError as error:
            return {"error": str(error), "kind": "silent"}

    async def _done(self, worker: AppWorker, asked: Asked, writer: asyncio.StreamWriter) -> Any:
        answer: Any = True
        match asked.do:
            case "begin" if asked.placed is not None:
                worker.begin(asked.place, asked.placed)
            case "leave":
                answer = await worker.leave(asked.place)
            case "status":
                ends = {topic: end for (topic, _), end in (await worker.ends()).items()}
                answer = {str(place): _report(worker, place, ends) for place in worker.figures}
            case "rows":
                answer = _newest(worker, asked)
            case "query":
                answer = _answered(worker, asked)
            case "follow":
                self._unfollow[asked.number] = _followed(worker, asked, writer)
            case "unfollow":
                self._unfollow.pop(asked.last, lambda: None)()
            case _:
                raise DeskRefusedError(f"nobody knows how to do {asked.do!r}", "mistake")
        return answer


def _encoded(asked: Asked, answer: Mapping[str, Any]) -> bytes:
    """Return the answer; that it cannot be written down, of a value that JSON has not, is one too."""
    number = {"number": asked.number}
    try:
        return orjson.dumps({**number, **answer}, default=plain_json)
    except (TypeError, MemoryError) as error:
        return orjson.dumps({**number, "error": f"the answer cannot be written down: {error}", "kind": "failed"})


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES) + data


def _report(worker: AppWorker, place: int, ends: Mapping[str, int]) -> Mapping[str, Any]:
    kernel = worker.kernels[place]
    end = ends.get(kernel.position[0], kernel.next)
    return {**worker.figures[place].reported(kernel.app, kernel.next), "lag_rows": max(0, end - kernel.next)}


def _figures(worker: AppWorker, asked: Asked) -> AppFigures:
    """Raise AppNotYetError if the app does not run here."""
    worker.kernel_of(asked.place)
    return worker.figures[asked.place]


def _newest(worker: AppWorker, asked: Asked) -> list[Mapping[str, Any]]:
    figures = _figures(worker, asked)
    rows = figures.newest.get(asked.text)
    if rows is None:
        if not figures.streams:
            # no row of its log has come yet, so neither has one of its own
            return []
        raise DeskRefusedError(f"the app has no stream {asked.text!r}; it has {', '.join(figures.streams)}", "unknown")
    return [figures.row(asked.text, one) for one in list(rows)[-asked.last :]]


def _answered(worker: AppWorker, asked: Asked) -> Mapping[str, Any]:
    try:
        query = parse_on_demand(asked.text, constants_of(asked.values) if asked.values else None)
    except ValueError as error:
        raise DeskRefusedError(str(error), "mistake") from error
    if not (asked.may_write or isinstance(query.output, Return)):
        raise DeskRefusedError("the query changes a table; ask one that selects", "not_allowed")
    kernel = worker.kernel_of(asked.place)
    try:
        answer = worker.ask(asked.place, query)
    except UNEXPECTED as error:
        # nobody's question ends the process of others' apps
        log.exception("an on-demand query failed")
        problem = f"the on-demand query cannot be computed: {type(error).__name__}: {error}"
        raise DeskRefusedError(problem, "failed") from error
    now = 0 if kernel.app.engine is None else kernel.app.engine.now
    return {
        "columns": [(column.name, column.type) for column in answer.columns],
        "rows": answer.rows,
        "as_of": {"partition": worker.partition, "offset": kernel.next - 1, "time": now},
    }


def _followed(worker: AppWorker, asked: Asked, writer: asyncio.StreamWriter) -> Callable[[], None]:
    figures, stream = _figures(worker, asked), asked.text
    if figures.streams and stream not in figures.streams:
        raise DeskRefusedError(f"the app has no stream {stream!r}; it has {', '.join(figures.streams)}", "unknown")

    def follower(seen: SeenRow) -> None:
        if writer.transport.get_write_buffer_size() < MOST_WAITING:
            message = {"number": asked.number, "row": figures.row(stream, seen)}
            writer.write(framed(orjson.dumps(message, default=plain_json)))

    return figures.follow(stream, follower)
