"""Static files kept in memory once they were asked for."""

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
TEXT = ("text/", "application/javascript", "application/json")


class MemoryFiles(StaticFiles):
    """Static files from memory. A page loads a hundred at once; Starlette reads each again, in pieces of 64 KiB through
    a thread, which takes several times as long as sending it from memory. A file that has changed on disk is read
    again."""

    def __init__(self, directory: Path, cache_control: str) -> None:
        super().__init__(directory=directory)
        self._cache_control = cache_control
        self._read: dict[str, tuple[str, bytes]] = {}
        """ETag and content by path."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        found, stat = self._looked_up(path)
        if stat is None or not S_ISREG(stat.st_mode):
            raise HTTPException(404)
        tag, content = self._content(found, stat)
        response = Response(content, headers={"etag": tag, "cache-control": self._cache_control})
        response.headers["content-type"] = _media_type(found)
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


def _media_type(path: str) -> str:
    kind = guess_type(path)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith(TEXT) else kind
