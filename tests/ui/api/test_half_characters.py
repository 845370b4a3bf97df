"""Half of a character (a lone surrogate) in a body is the sender's fault, on every route that takes one."""

import httpx

from ui.http.same_host import CHANGING_METHODS

ESCAPED = rb'{"name": "a\ud800b", "state": "x", "key": "\udfff"}'
FORMS = {
    "escaped": ESCAPED,
    "as a name": rb'{"\uDFFF": 1}',
    "deep": rb'{"a": [{"b": ["\uD800"]}]}',
    "raw": b'{"key": "\xed\xa0\x80"}',
    "in UTF-16": b"\xff\xfe" + '{"key": "\ud800"}'.encode("utf-16-le", "surrogatepass"),
}

WHOLE = (rb'{"state": "\ud83d\ude00"}', '{"state": "ü😀"}'.encode(), b"\xed\xa0\x80", b"[" * 100_000)


async def routes(api: httpx.AsyncClient) -> list[tuple[str, str]]:
    """All that change something, whether they read a body or not."""
    paths = (await api.get("/openapi.json")).json()["paths"]
    return [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, methods in paths.items()
        for method in methods
        if method.upper() in CHANGING_METHODS
    ]


async def test_it_is_422_on_every_route(api: httpx.AsyncClient, key: str) -> None:
    headers = {"X-API-Key": key, "Content-Type": "application/json", "If-Match": '"1"'}
    asked = await routes(api)
    assert len(asked) >= 10
    for form, content in FORMS.items():
        answers = [await api.request(method, path, content=content, headers=headers) for method, path in asked]
        said = {(one.status_code, one.headers.get("content-type")) for one in answers}
        assert said == {(422, "application/problem+json")}, form
        assert "half of a character" in answers[0].json()["errors"][0]["why"]


async def test_the_field_is_named_and_whole_characters_and_what_is_no_json_are_left_to_the_route(
    api: httpx.AsyncClient, key: str
) -> None:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    answer = await api.patch("/api/settings", content=FORMS["deep"], headers=headers)
    assert [one["field"] for one in answer.json()["errors"]] == ["a.b"]
    for whole in WHOLE:
        answer = await api.put("/api/trading-state", content=whole, headers=headers)
        assert answer.status_code == 422
        assert "half of a character" not in answer.text
