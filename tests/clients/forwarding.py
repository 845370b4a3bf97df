"""An address that passes requests on to another and keeps them: what a client says, word by word."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_SECONDS = 30
_OWN_HEADERS = {"connection", "content-length", "transfer-encoding"}


@dataclass(frozen=True)
class Exchanged:
    """A request and its answer; names of headers are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    answer: str


@contextmanager
def forwarded(address: str, host: str = "") -> Iterator[tuple[str, list[Exchanged]]]:
    """Yield an address that stands for `address`, and what passes; `host` replaces the client's header of that name."""
    exchanged: list[Exchanged] = []
    target = urlsplit(address).netloc

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            connection = HTTPConnection(target, timeout=_SECONDS)
            kept = {name: value for name, value in headers.items() if name not in _OWN_HEADERS}
            if host:
                kept["host"] = host
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            exchanged.append(Exchanged(self.command, self.path, headers, body.decode(), text.decode()))
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OWN_HEADERS:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _pass_on  # noqa: N815 – the names that the server calls

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", exchanged
        finally:
            server.shutdown()
            thread.join()
