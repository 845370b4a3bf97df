"""Clients of the web application, without a socket and with one."""

import httpx
from fastapi import FastAPI

ADDRESS = "http://127.0.0.1:8000"
"""Where it would listen: requests of other hosts are refused."""

ANSWER_SECONDS = 60.0
"""Longer than any machine takes."""


def client_at(address: str = "", headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    """Return a client of whatever listens at `host:port`."""
    return httpx.AsyncClient(base_url=f"http://{address}" if address else "", headers=headers, timeout=ANSWER_SECONDS)


def client_of(application: FastAPI, address: str = ADDRESS) -> httpx.AsyncClient:
    """Use it in `async with`; the application must be running."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=application), base_url=address)
