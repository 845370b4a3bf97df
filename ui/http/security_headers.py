"""What browsers may do with our answers: run our own scripts alone, and show our pages in tabs of their own alone."""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""Of what is no page."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
_inline_scripts = re.compile(r"<script>(.*?)</script>", re.DOTALL).findall
_is_host = re.compile(r"[A-Za-z0-9.\-]+(:[0-9]+)?|\[[0-9A-Fa-f:.]+\](:[0-9]+)?", re.ASCII).fullmatch


def page_policy(html: str) -> str:
    """Of a page whose inline scripts are those of `html`: they are named by what they say, so that none may be added.

    Streamlit mounts the scripts of components as blobs, writes the styles of its parts into the page, and counts 64
    bits by WebAssembly; none of it evaluates text.
    """
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in _inline_scripts(html)]
    scripts = " ".join(("'self'", "blob:", "'wasm-unsafe-eval'", *(f"'sha256-{one}'" for one in dict.fromkeys(hashes))))
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; connect-src 'self'; media-src 'self'; manifest-src 'self'; worker-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class SafeHeaders:
    """On every answer, Streamlit's among them; a route that names a policy of its own keeps it."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                headers.setdefault("Content-Security-Policy", self._policy if is_page else NOTHING)
                headers["Content-Security-Policy"] = _with_sockets(headers["Content-Security-Policy"], host)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_safely)


def _with_sockets(policy: str, host: str) -> str:
    """Not every browser takes our own WebSockets for a part of 'self'."""
    if not _is_host(host):
        return policy
    return policy.replace("connect-src 'self';", f"connect-src 'self' ws://{host} wss://{host};")
