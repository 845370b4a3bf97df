"""Requests that nobody thought of: other methods, paths that are none, bytes that are no text."""

import httpx

READ_ONLY = "GET, HEAD"


ALLOWED = (
    ("DELETE", "/api/quotes", READ_ONLY),
    ("TRACE", "/api/quotes", READ_ONLY),
    ("OPTIONS", "/api/arbitrages/x", READ_ONLY),
    ("POST", "/api/settings", "GET, HEAD, PATCH"),
    ("GET", "/api/trading-state", "PUT"),
    ("HEAD", "/api/trading-state", "PUT"),
    ("OPTIONS", "/api/apps/wide", "GET, HEAD, PUT, DELETE"),
    # words in the place of an app's name, or of a failed row's key
    ("OPTIONS", "/api/apps/check", "POST"),
    ("GET", "/api/apps/check", "POST"),
    ("DELETE", "/api/apps/dry-run", "POST"),
    ("PUT", "/api/apps/language", READ_ONLY),
    ("OPTIONS", "/api/apps/wide/errors/drop", "POST"),
    ("PUT", "/api/apps/wide/errors/replay", "POST"),
    ("POST", "/api/apps/wide/errors/7", "GET, HEAD, PUT"),
    ("DELETE", "/api/alerts/rules/preview", "POST"),
    ("PROPFIND", "/api/quotes", READ_ONLY),
    # HEAD is GET below /api alone
    ("POST", "/metrics", "GET"),
)


async def test_another_method_is_answered_with_those_allowed(api: httpx.AsyncClient) -> None:
    for method, path, allow in ALLOWED:
        answer = await api.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allow)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_every_path_of_the_document_allows_what_stands_there(api: httpx.AsyncClient) -> None:
    paths = (await api.get("/openapi.json")).json()["paths"]
    said = {path: (await api.request("OPTIONS", path.replace("{", "a-").replace("}", ""))).headers for path in paths}
    allowed = {path: set(headers["allow"].split(", ")) - {"HEAD"} for path, headers in said.items()}
    assert allowed == {path: {method.upper() for method in methods} for path, methods in paths.items()}


async def test_what_cancels_or_removes_says_both_answers(api: httpx.AsyncClient) -> None:
    paths = (await api.get("/openapi.json")).json()["paths"]
    for path in ("/api/backtests/{backtest_id}", "/api/apps/dry-run/{run_id}"):
        answers = set(paths[path]["delete"]["responses"])
        assert answers > {"202", "204"}
        assert "200" not in answers


async def test_head_says_what_get_would(api: httpx.AsyncClient) -> None:
    for path in ("/api/quotes", "/api/settings", "/api/health", "/api/trades?limit=5"):
        head, get = await api.head(path), await api.get(path)
        assert (head.status_code, head.headers["content-type"]) == (get.status_code, get.headers["content-type"])
        assert ("etag" in head.headers) == ("etag" in get.headers)


async def test_what_is_nowhere_is_404_for_any_method(api: httpx.AsyncClient) -> None:
    for method in ("GET", "HEAD", "POST", "TRACE", "PROPFIND"):
        answer = await api.request(method, "/api/nowhere/at-all")
        assert (answer.status_code, "allow" in answer.headers) == (404, False)


ODD_PATHS = (
    "/api/arbitrages/%00",
    "/api/arbitrages/%ff%fe",
    "/api/opportunities/%00",
    "/api/trades?cursor=%00",
    "/api/trades?cursor=%ff",
    "/api/trades?limit=99999999999999999999999999",
    "/api/trades?limit=1e3",
    "/api/arbitrages?state=%00",
    "/api/rejections?reason=%00",
    "/api/bots/%00",
    "/api/bots/%F0%9F%92%A9",
    "/api/backtests/%00",
    "/api/backtests/..%2F..%2Fapi_key/report",
    "/api/logs/..%2Fapi_key",
    "/api/logs/%00",
    "/api/settings/versions?cursor=WzFlOTksICJ4Il0=",
    "/api/trades?cursor=WzkyMjMzNzIwMzY4NTQ3NzU4MDgsIngiXQ==",
    "/api/trades?cursor=W3RydWUsICJ4Il0=",
    "/api/stream?since=99999999999999999999",
)


def odd(answers: dict[str, httpx.Response], *expected: int) -> dict[str, int]:
    """Those with another status, or with an error that is not a problem in words."""
    return {
        asked: answer.status_code
        for asked, answer in answers.items()
        if answer.status_code not in expected
        or (answer.status_code >= 400 and answer.headers["content-type"] != "application/problem+json")
    }


async def test_odd_paths_and_queries_are_rejected_in_words_or_answered(api: httpx.AsyncClient) -> None:
    answers = {path: await api.get(path) for path in ODD_PATHS}
    assert odd(answers, 200, 404, 422) == {}


async def test_a_trailing_slash_leads_to_the_resource_or_to_nothing(api: httpx.AsyncClient) -> None:
    answers = {path: await api.get(path) for path in ("/api/quotes/", "/api/settings/")}
    assert odd(answers, 200, 307, 404) == {}


ODD_BODIES = (
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"1e999",
    b'{"min_net_bps": 1e999}',
    b'{"min_net_bps": NaN}',
    b'{"min_net_bps": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'{"max_notional": "1e999999"}',
    b'{"max_notional": 99999999999999999999999999999999999999999999999999}',
    b'{"version": 99999999999999999999999999}',
    b"[" * 100_000,
)
ODD_TYPES = ("text/plain", "application/xml", "application/json; charset=latin-1", "x")
ODD_VERSIONS = ("", "1", '"x"', "*", '"99999999999999999999999"', 'W/"1"', "\xff", '"1", "2"')


async def test_odd_bodies_types_and_versions_are_rejected_in_words(api: httpx.AsyncClient, key: str) -> None:
    async def patch(content: bytes, version: str, content_type: str = "application/json") -> httpx.Response:
        headers = {"X-API-Key": key, "If-Match": version, "Content-Type": content_type}
        coded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        return await api.patch("/api/settings", content=content, headers=coded)

    bodies = {repr(body[:40]): await patch(body, '"1"') for body in ODD_BODIES}
    assert odd(bodies, 400, 422) == {}
    types = {content_type: await patch(b"not json", '"1"', content_type) for content_type in ODD_TYPES}
    assert odd(types, 400, 415, 422) == {}
    assert (await api.get("/api/settings")).json()["version"] == 1
    versions = {version: await patch(b'{"min_net_bps": 6.0}', version) for version in ODD_VERSIONS}
    assert odd(versions, 200, 412, 422, 428) == {}
