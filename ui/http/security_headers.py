"""Security headers: browsers run only our own scripts, and show our pages only in tabs of their own."""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""The policy of responses that are not pages."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
_inline_scripts = re.compile(r"<script>(.*?)</script>", re.DOTALL).findall
_is_host = re.compile(r"[A-Za-z0-9.\-]+(:[0-9]+)?|\[[0-9A-Fa-f:.]+\](:[0-9]+)?", re.ASCII).fullmatch


def page_policy(html: str) -> str:
    """Return the policy of a page with the inline scripts of `html`, allowed by hash, so that none can be added.

    Streamlit mounts the scripts of components as blobs, writes inline styles, and uses WebAssembly; it never evaluates
    text.
    """
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in _inline_scripts(html)]
    scripts = " ".join(("'self'", "blob:", "'wasm-unsafe-eval'", *(f"'sha256-{one}'" for one in dict.fromkeys(hashes))))
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; connect-src 'self'; media-src 'self'; manifest-src 'self'; worker-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class SafeHeaders:
    """Sets the headers on every response, Streamlit's included; a policy that a route sets stays."""

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
    """Return the policy with our own WebSockets, which some browsers do not count as 'self'."""
    if not _is_host(host):
        return policy
    return policy.replace("connect-src 'self';", f"connect-src 'self' ws://{host} wss://{host};")
