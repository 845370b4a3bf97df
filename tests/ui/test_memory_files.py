"""Static files from memory: what they are, what browsers may keep, and what is refused."""

import os
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from ui.http.memory_files import HASHED, MemoryFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    (files / "js").mkdir(parents=True)
    (files / "js" / "page.js").write_text("export const one = 1;")
    (files / "font.woff2").write_bytes(b"\x00\x01")
    (tmp_path / "secret.txt").write_text("secret")
    return files


@pytest.fixture
def client(folder: Path) -> httpx.AsyncClient:
    app = Starlette(routes=[Mount("/static", MemoryFiles(folder, HASHED))])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://files")


@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("js/page.js", "text/javascript; charset=utf-8", b"export const one = 1;"),
        ("font.woff2", "font/woff2", b"\x00\x01"),
    ],
)
async def test_a_file_comes_with_its_kind_and_how_long_it_may_be_kept(
    client: httpx.AsyncClient, path: str, kind: str, content: bytes
) -> None:
    answer = await client.get(f"/static/{path}")
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, kind, content)
    assert answer.headers["cache-control"] == HASHED
    unchanged = await client.get(f"/static/{path}", headers={"If-None-Match": answer.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


async def test_text_goes_out_packed_to_who_reads_that_and_has_a_tag_of_its_own(
    client: httpx.AsyncClient, folder: Path
) -> None:
    text = "export const one = 1;\n" * 100
    (folder / "js" / "page.js").write_text(text)
    packed, plain = [
        await client.get("/static/js/page.js", headers={"Accept-Encoding": coding}) for coding in ("gzip", "identity")
    ]
    assert (packed.headers["content-encoding"], packed.text, plain.text) == ("gzip", text, text)
    assert "content-encoding" not in plain.headers
    assert int(packed.headers["content-length"]) < len(text) / 10
    assert packed.headers["etag"] != plain.headers["etag"]
    assert {one.headers["vary"] for one in (packed, plain)} == {"Accept-Encoding"}
    again = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
    assert (await client.get("/static/js/page.js", headers=again)).status_code == 304
    small = await client.get("/static/font.woff2", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


async def test_a_file_that_changed_is_read_again(client: httpx.AsyncClient, folder: Path) -> None:
    file = folder / "js" / "page.js"
    before = await client.get("/static/js/page.js")
    file.write_text("export const one = 2;")
    os.utime(file, ns=(1, 1))
    after = await client.get("/static/js/page.js", headers={"If-None-Match": before.headers["etag"]})
    assert (after.status_code, after.text) == (200, "export const one = 2;")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "js/none.js", 404),
        ("GET", "js", 404),
        ("GET", "%2e%2e/secret.txt", 404),
        ("GET", "js/%00.js", 404),
        ("GET", "a" * 5_000, 404),
        ("POST", "js/page.js", 405),
    ],
)
async def test_what_is_no_file_is_refused(client: httpx.AsyncClient, method: str, path: str, status: int) -> None:
    assert (await client.request(method, f"/static/{path}")).status_code == status
