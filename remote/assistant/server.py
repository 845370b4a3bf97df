"""The server of tools for assistants: the Model Context Protocol over standard input and output, by its official SDK.

It listens nowhere. All that it knows of the session it asks over REST, with the key that it was given.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from remote.assistant.changing import ChangingTools
from remote.assistant.pages import page_names, page_text, page_title, settings_with_ranges
from remote.assistant.reading import Answer, ReadingTools
from remote.connection import Connection
from runtime.errors import ArbitrageError

NAME = "arbitrage"
INSTRUCTIONS = (
    "Tools for one running session of cross-exchange arbitrage. Times are microseconds UTC, money is decimal strings "
    "in the settlement currency, rates are basis points. Before change_settings ask preview_settings and show the "
    "user what it says; revert_settings takes a change back. halt_trading stops all orders at once. The resources "
    "arbitrage://docs/… explain every term, arbitrage://settings has every setting with its range."
)
HARMLESS = ("preview_settings", "run_backtest", "dry_run_app")
"""Of the tools that change something, those that change no trading."""


def assistant_server(session: Connection, halting: Connection) -> MCPServer:
    """Return the server. `halting`: the connection that may halt trading; it may have a key that the other has not."""
    server = MCPServer(NAME, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in ReadingTools(session).tools:
        server.add_tool(in_words(tool), annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    for tool in ChangingTools(session, halting).tools:
        server.add_tool(in_words(tool), annotations=_changing(tool.__name__))
    _offer_settings(server, session)
    for name in page_names():
        _offer_page(server, name)
    return server


def in_words(tool: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return the tool, with errors that the assistant reads: of any but its own kind the SDK keeps the words back."""

    @wraps(tool)
    def asked(*given: object, **named: object) -> Answer:
        try:
            return tool(*given, **named)
        except ArbitrageError as error:
            raise ToolError(str(error)) from error

    return asked


def _changing(name: str) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=name == "preview_settings", destructive_hint=name not in HARMLESS, open_world_hint=False
    )


def _offer_settings(server: MCPServer, session: Connection) -> None:
    def settings() -> str:
        """Return every setting: value (null: no session answers), meaning, unit, range or choices."""
        values: dict[str, Any] = {}
        # the SDK keeps the words of what a resource raises from its reader
        with suppress(ArbitrageError):
            values = session.settings()
        return json.dumps(settings_with_ranges(values), indent=1)

    offer = server.resource("arbitrage://settings", title="Settings with their ranges", mime_type="application/json")
    offer(settings)


def _offer_page(server: MCPServer, name: str) -> None:
    def page() -> str:
        """Return a page of the documentation."""
        return page_text(name)

    server.resource(f"arbitrage://docs/{name}", name=name, title=page_title(name), mime_type="text/markdown")(page)
