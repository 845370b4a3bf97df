"""From text to lark's parse tree.

The parser's tables take seconds to make, so they are kept in the user's cache folder, in a file whose name says which
grammar, lark and Python they belong to. Where that folder cannot be used they are made in each process.
"""

import hashlib
import marshal
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import lark
from lark import Lark, Token, Tree
from lark.grammar import Rule
from lark.lexer import TerminalDef

Start = Literal["app", "on_demand", "only_expression"]
BRACES_IN_SCRIPTS = 16
"""How deep the braces of a script's body may be nested."""
DIGEST_BYTES = 32
_lock = Lock()


def parse_tree(text: str, start: Start) -> Tree[Token]:
    """Raise lark's `UnexpectedInput`."""
    with _lock:
        parser = _parser()
    return parser.parse(text, start=start)


def terminals() -> dict[str, TerminalDef]:
    """By name, as an error lists what was expected."""
    with _lock:
        return {terminal.name: terminal for terminal in _parser().terminals}


@cache
def _parser() -> Lark:
    grammar = grammar_text()
    path = tables_path(grammar)
    tables = stored_tables(path)
    if tables is not None:
        return Lark.load(tables)
    parser = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["app", "on_demand", "only_expression"],
        propagate_positions=True,
        maybe_placeholders=True,
    )
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    store_tables(path, {"data": data, "memo": memo})
    return parser


def grammar_text() -> str:
    rules = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return f"{rules}\nSCRIPT: /{script_pattern()}/\n"


def script_pattern() -> str:
    """Return the pattern of a function's body. Braces in strings and comments do not count; possessive, so that a body
    without an end costs one reading."""
    plain = (
        r"[^{}\"'\/`]|\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'|`(?:\\.|[^`\\])*+`"
        r"|\/\/[^\n]*+|\/\*(?:[^*]|\*(?!\/))*+\*\/|\/"
    )
    body = plain
    for _ in range(BRACES_IN_SCRIPTS):
        body = rf"{plain}|\{{(?:{body})*+\}}"
    return rf"\{{(?:{body})*+\}}"


def tables_path(grammar: str) -> Path:
    versions = f"{lark.__version__} {sys.implementation.cache_tag}"
    name = hashlib.sha256(f"{versions}\n{grammar}".encode()).hexdigest()[:24]
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "arbitrage" / f"grammar-{name}.tables"


def stored_tables(path: Path) -> dict[str, Any] | None:
    """None if there is no whole file. Marshal and not pickle: what is read can hold values, never code to run."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, tables = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if hashlib.sha256(tables).digest() != digest:
        return None
    loaded: dict[str, Any] = marshal.loads(tables)  # noqa: S302
    return loaded


def store_tables(path: Path, tables: dict[str, Any]) -> None:
    """Whole or not at all: several processes may write at once."""
    content = marshal.dumps(_plain(tables))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(file.name, path)
    except OSError:
        return  # the next process makes them again


def _plain(value: Any) -> Any:
    """Lark's names are a kind of `str` of their own, which marshal does not take."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return value
