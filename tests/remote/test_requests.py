"""The client's addresses, queries, keys and problems, without a session."""

from pathlib import Path

import pytest

from remote.requests import checked_address, problem_of, query_of, service_at
from remote.session_keys import VARIABLE, key_from
from runtime.errors import ArbitrageError, RefusedError, UnavailableError
from streams.broker.embedded_broker import free_ports

PROBLEMS: list[tuple[int, bytes, type[ArbitrageError], str]] = [
    (401, b'{"detail": "An API key is needed."}', RefusedError, "An API key is needed."),
    (422, b'{"detail": "Not changed. min_net_bps: must be at most 10000."}', RefusedError, "at most 10000."),
    (429, b'{"detail": "Too many requests"}', UnavailableError, "Too many requests."),
    (503, b"{}", UnavailableError, "The session answered with status 503."),
    (500, b"<html>", RefusedError, "The session answered with status 500."),
    (404, b"[1]", RefusedError, "status 404."),
]


@pytest.mark.parametrize(("status", "received", "kind", "words"), PROBLEMS)
def test_a_problem_says_whether_to_try_again(
    status: int, received: bytes, kind: type[ArbitrageError], words: str
) -> None:
    found = problem_of(status, received)
    assert type(found) is kind
    assert str(found).endswith(words)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("https://desk.example", "https://desk.example"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address(url: str, address: str) -> None:
    assert checked_address(url) == address


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://a", "http://", "http://a/api", "http://a:x", "http://a?b", "http://me@a"]
)
def test_no_address(url: str) -> None:
    with pytest.raises(RefusedError, match="is not the address of a session"):
        checked_address(url)


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://10.0.0.7:8000", False),
        ("http://desk.example:8000", True),
        ("https://desk.example", False),
    ],
)
def test_no_key_travels_in_the_clear(url: str, is_refused: bool) -> None:
    assert service_at(url).key is None
    if is_refused:
        with pytest.raises(RefusedError, match="could read the key"):
            service_at(url, "secret")
    else:
        assert service_at(url, "secret").key == "secret"
        assert "secret" not in repr(service_at(url, "secret"))


@pytest.mark.parametrize("key", ["", " a", "a\nX-Other: b", "schlüssel", "a\0"])
def test_what_is_no_key_is_not_sent(key: str) -> None:
    with pytest.raises(RefusedError, match="This is no API key"):
        service_at("http://127.0.0.1:8000", key)


def test_a_query() -> None:
    assert query_of(None) == query_of({"a": None}) == ""
    assert query_of({"base": "BTC", "state": ["closed", "residual"], "limit": 5, "cursor": None}) == (
        "?base=BTC&state=closed&state=residual&limit=5"
    )


def test_the_key_is_given_or_from_a_file_or_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("abc\n")
    assert key_from(None, None, {}) is None
    assert key_from(None, None, {VARIABLE: "env"}) == "env"
    assert key_from("given", None, {VARIABLE: "env"}) == "given"
    assert key_from(None, path, {VARIABLE: "env"}) == "abc"
    for content in ("", " \n", "two words"):
        path.write_text(content)
        with pytest.raises(RefusedError, match="holds no key"):
            key_from(None, path, {})
    with pytest.raises(RefusedError, match="not both"):
        key_from("given", path, {})
    with pytest.raises(RefusedError, match="cannot be read as a key"):
        key_from(None, tmp_path / "missing", {})


def test_nobody_there_is_worth_another_try() -> None:
    (port,) = free_ports(1)
    with pytest.raises(UnavailableError, match="is a session running there"):
        service_at(f"http://127.0.0.1:{port}").asked("GET", "/health")
