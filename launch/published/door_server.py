"""The door of the part that runs published apps (`runtime.app_door`): who may reach the socket may ask."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any

import orjson

from cep.apps.engine.input_rows import row_of
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import plain_json
from cep.apps.language.errors import AppTextError
from cep.apps.parts.scope import Columns
from launch.apps.savepoints import NotYetSavedError
from launch.apps.sent_rows import sent_message
from launch.errors import CannotStartError
from launch.published.host import PublishedApps
from launch.published.hosted import CannotRunError, RunningApp, check_outside, published_source
from launch.published.kept_savepoints import savepoint_names, savepoint_of
from launch.published.takeover import fitting
from runtime.app_door import MOST_ROWS, SOCKET, AppDoorRefusedError, AppDoorSilentError
from runtime.socket_path import short_path
from runtime.tasks import run_until_first
from store.errors import StoreError
from store.records.apps import AppVersion
from streams.errors import StreamError
from streams.topic_writer import TopicWriter

MOST_BYTES_OF_REQUEST = 1024**2
MOST_FOLLOWING = 200
OWNER_ALONE = 0o177
"""What others may not."""

log = logging.getLogger("launch")


class DoorServer:
    def __init__(self, apps: PublishedApps, terms: OperatorTerms) -> None:
        self._apps, self._terms = apps, terms
        self._writer: TopicWriter | None = None
        self._following = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While it lasts, requests are answered. Raises OSError."""
        home = self._apps.session.home
        (home / SOCKET).unlink(missing_ok=True)
        before = os.umask(OWNER_ALONE)
        try:
            with short_path(home, SOCKET) as path:
                server = await asyncio.start_unix_server(self._serve, path, limit=MOST_BYTES_OF_REQUEST)
        finally:
            os.umask(before)
        try:
            async with server:
                yield
        finally:
            (home / SOCKET).unlink(missing_ok=True)
            if self._writer is not None:
                with suppress(StreamError):
                    await self._writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                request = _request(line)
                if request.get("do") == "follow":
                    # a quiet stream gives nothing by whose writing the client's end would be seen
                    await run_until_first(self._tell(request, writer), _gone(reader))
                    return
                await self._tell(request, writer)
        except (ConnectionError, ValueError, asyncio.CancelledError):
            # gone, or the line is too long: nothing to answer
            return
        finally:
            writer.close()

    async def _tell(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        async with aclosing(self._answers(request)) as answers:
            async for answer in answers:
                writer.write(orjson.dumps(answer, default=plain_json) + b"\n")
                await writer.drain()

    async def _answers(self, request: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any]]:
        try:
            if request.get("do") == "follow":
                # the first one says that it begins
                await self._running(request["app"])
                with self._place():
                    yield {"is": True}
                    async with aclosing(self._apps.follow(request["app"], request["stream"])) as rows:
                        async for row in rows:
                            yield {"is": row}
            else:
                yield {"is": await self._done(request)}
        except AppDoorRefusedError as error:
            yield {"error": str(error), "kind": error.kind, "line": error.line, "column": error.column}
        except (AppDoorSilentError, StoreError, StreamError) as error:
            yield {"error": str(error), "kind": "silent"}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log.info("request not understood", extra={"error": repr(error)})
            yield {"error": "the request is none of the door's.", "kind": "mistake"}

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Give one who follows a place. Raises AppDoorSilentError if there is none."""
        if self._following >= MOST_FOLLOWING:
            raise AppDoorSilentError(f"{MOST_FOLLOWING} follow rows already; try again once one has gone.")
        self._following += 1
        try:
            yield
        finally:
            self._following -= 1

    async def _done(self, request: Mapping[str, Any]) -> Any:
        match request["do"]:
            case "status":
                name = request.get("app")
                return self._apps.all_status() if name is None else self._apps.status(await self._running(name))
            case "rows":
                one, last = await self._running(request["app"]), int(request["last"])
                return await one.group.rows(one.place, str(request["stream"]), max(1, min(last, MOST_ROWS)))
            case "query":
                one, values = await self._running(request["app"]), dict(request.get("values") or {})
                may_write = bool(request.get("may_write"))
                return await one.group.query(one.place, str(request["query"]), values, may_write=may_write)
            case "inject" | "replay" as work:
                take = self._inject if work == "inject" else self._replay
                return await take(request)
            case "savepoint" | "savepoints":
                return await self._savepoints(str(request["app"]), is_new=request["do"] == "savepoint")
            case "fits":
                return await self._fits(str(request["app"]), str(request["text"]))
            case other:
                raise AppDoorRefusedError(f"nobody knows how to do {other!r}.", "mistake")

    async def _running(self, name: str) -> RunningApp:
        """Raise AppDoorRefusedError if the app does not run; AppDoorSilentError, StoreError if it may soon: what was
        ordered a moment ago has perhaps not been seen yet."""
        try:
            return self._apps.running(name)
        except AppDoorRefusedError:
            if await self._apps.begins(name):
                raise AppDoorSilentError(f"the app {name!r} is starting; try again in a moment.") from None
            raise

    async def _savepoints(self, app: str, *, is_new: bool) -> Any:
        """Keep one, or return the names of all."""
        if is_new:
            one = await self._running(app)
            try:
                return await asyncio.to_thread(savepoint_of, self._apps.session, one.source, one.folder)
            except NotYetSavedError as error:
                raise AppDoorSilentError(str(error)) from error
            except CannotStartError as error:
                raise AppDoorRefusedError(str(error), "failed") from error
        return await asyncio.to_thread(savepoint_names, self._apps.session.home, app)

    async def _inject(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        one, stream = await self._running(request["app"]), str(request["stream"])
        source = one.source
        if not source.takes_rows:
            raise AppDoorRefusedError("rows are sent into apps in paper sessions alone.", "not_allowed")
        if stream not in source.plain_streams:
            known = ", ".join(source.plain_streams) or "none that takes rows"
            raise AppDoorRefusedError(f"{stream!r} is no plain stream of the app; it has {known}.", "unknown")
        return await self._send(one, stream, request["values"], None)

    async def _replay(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        one, stream = await self._running(request["app"]), str(request["stream"])
        if stream not in one.source.sent_streams:
            problem = f"the version that runs keeps no failed rows of {stream!r}, so it takes none again."
            raise AppDoorRefusedError(problem, "unknown")
        return await self._send(one, stream, request["values"], str(request["row"]))

    async def _send(self, one: RunningApp, stream: str, values: Any, replays: str | None) -> Mapping[str, Any]:
        """Write a row for the app; `replays`: the id that it had, if it failed before."""
        source = one.source
        checked = _checked_values(source.sent_streams[stream], values)
        if self._writer is None:
            self._writer = TopicWriter(self._apps.session.services.kafka)
        try:
            message = sent_message(one.created_at, stream, checked, replays)
            self._writer.write(source.rows_topic or "", message, source.name, 0)
            await self._writer.flush()
        except StreamError:
            # it takes no more rows once it has lost one
            self._writer = None
            raise
        return {"partition": 0}

    async def _fits(self, app: str, text: str) -> Mapping[str, Any]:
        before = await self._apps.former(app)
        try:
            version = AppVersion(app, 0, text, "", 0)
            after = await asyncio.to_thread(published_source, self._apps.session, version, self._terms)
            await check_outside(self._apps.session, after)
        except (CannotRunError, CannotStartError, AppTextError) as error:
            raise AppDoorRefusedError(f"{str(error).rstrip('.')}.", "mistake") from error
        parts = await asyncio.to_thread(fitting, before, after)
        return {"fit": parts.fit, "empty": parts.empty, "dropped": parts.dropped}


def _request(line: bytes) -> Mapping[str, Any]:
    """Return an empty one if it cannot be read."""
    with suppress(ValueError):
        request = json.loads(line)
        if isinstance(request, dict):
            return request
    return {}


async def _gone(reader: asyncio.StreamReader) -> None:
    """Wait until the client closes its end; what it writes meanwhile is nothing."""
    while await reader.read(MOST_BYTES_OF_REQUEST):
        pass


def _checked_values(columns: Columns, values: Any) -> Mapping[str, Any]:
    """Return the values by column, as their types say; those that were left out stay so, since the version that reads
    the row may not have them. Raises AppDoorRefusedError."""
    try:
        if not isinstance(values, dict):
            raise ValueError("has no values by column")
        row = row_of(columns, values)
        return {column.name: value for column, value in zip(columns, row, strict=True) if column.name in values}
    except ValueError as error:
        raise AppDoorRefusedError(f"the row {error}.", "mistake") from error
