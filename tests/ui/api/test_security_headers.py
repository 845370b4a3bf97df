"""What browsers are told of every answer: whose scripts may run, and that nobody else shows our pages in theirs."""

import re
from base64 import b64encode
from hashlib import sha256

import httpx

from ui.http.security_headers import page_policy
from ui.pages.shell import page_shell

PATHS = ("/api/health", "/api/x", "/api/settings", "/docs", "/sign-in", "/assets/panel.js", "/openapi.json", "/metrics")


async def test_no_answer_may_be_framed_or_sniffed(api: httpx.AsyncClient) -> None:
    for path in PATHS:
        headers = (await api.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] in ("same-origin", "no-referrer"), path
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path
        assert policy.startswith("default-src 'none'"), path


def test_the_shell_runs_its_own_inline_scripts_and_no_others() -> None:
    html = page_shell()
    inline = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    policy = page_policy(html)
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert len(inline) == 3
    for script in inline:
        assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in scripts
    assert "'unsafe-inline'" not in scripts
    assert "'unsafe-eval'" not in scripts


async def test_own_sockets_are_named_and_a_strange_host_is_not(api: httpx.AsyncClient) -> None:
    own = (await api.get("/docs")).headers["content-security-policy"]
    assert "connect-src 'self' ws://127.0.0.1:8000 wss://127.0.0.1:8000;" in own
    strange = (await api.get("/docs", headers={"Host": "a; script-src *"})).headers["content-security-policy"]
    assert "script-src *" not in strange
