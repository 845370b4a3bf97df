"""Static files kept in memory once they were asked for."""

import asyncio
import gzip
import os
from collections.abc import MutableMapping
from mimetypes import guess_type
from pathlib import Path
from stat import S_ISREG
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

REVALIDATED = "no-cache"
"""The browser asks each time: a new version must not run on old scripts."""
HASHED = "public, immutable, max-age=31536000"
"""For files whose names change with their contents."""
TEXT = ("text/", "application/javascript", "application/json", "image/svg")
PACKED_FROM = 1_024
"""Bytes; a smaller file is not worth it."""
LEVEL = 5
"""Beyond it a file of Streamlit's takes twice the time for two hundredths less."""


class MemoryFiles(StaticFiles):
    """Static files from memory. A page loads a hundred at once; Starlette reads each again, in pieces of 64 KiB through
    a thread, which takes several times as long as sending it from memory. A file that has changed on disk is read
    again. Text goes out packed by gzip, packed once for all who ask: a third of its size counts on a slow line."""

    def __init__(self, directory: Path, cache_control: str) -> None:
        super().__init__(directory=directory)
        self._cache_control = cache_control
        self._read: dict[str, tuple[str, bytes]] = {}
        """ETag and content by path."""
        self._packed: dict[str, tuple[str, asyncio.Task[bytes]]] = {}

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        found, stat = self._looked_up(path)
        if stat is None or not S_ISREG(stat.st_mode):
            raise HTTPException(404)
        tag, content = self._content(found, stat)
        kind = _media_type(found)
        headers = {"content-type": kind, "cache-control": self._cache_control}
        if kind.startswith(TEXT) and len(content) >= PACKED_FROM:
            headers["vary"] = "Accept-Encoding"
            if "gzip" in Headers(scope=scope).get("accept-encoding", ""):
                content = await self._pack(found, tag, content)
                tag, headers["content-encoding"] = f'{tag[:-1]}-gzip"', "gzip"
        response = Response(content, headers=headers | {"etag": tag})
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response

    def _looked_up(self, path: str) -> tuple[str, os.stat_result | None]:
        try:
            return self.lookup_path(path)
        except (OSError, ValueError):
            # a name that no file can have: too long, or with a null byte
            return "", None

    def _content(self, path: str, stat: os.stat_result) -> tuple[str, bytes]:
        tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        known = self._read.get(path)
        if known is None or known[0] != tag:
            known = self._read[path] = tag, Path(path).read_bytes()
        return known

    async def _pack(self, path: str, tag: str, content: bytes) -> bytes:
        """Return it packed; in a thread: the loop serves the kill switch."""
        known = self._packed.get(path)
        if known is None or known[0] != tag:
            packing = asyncio.create_task(asyncio.to_thread(gzip.compress, content, LEVEL, mtime=0))
            known = self._packed[path] = tag, packing
        return await asyncio.shield(known[1])


def _media_type(path: str) -> str:
    kind = guess_type(path)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith(TEXT) else kind
