"""The statements of a text that is not of the language: those that are, and what is wrong with each of the others.

A parser stops at its first mistake. Statements end at `;`, so each is parsed by itself where it stands in the text; in
a partition each query too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from cep.apps.language.app_parser import MOST_CHARACTERS, parse_app
from cep.apps.language.app_tree import App
from cep.apps.language.errors import AppTextError
from cep.apps.language.grammar_parser import script_pattern
from cep.apps.language.token_patterns import COMMENT, QUOTED

MOST_MISTAKES = 100
_WITH = re.compile(r"\s+with\b", re.IGNORECASE)
_CLOSES = re.compile(r"\s*(;|\Z)")
_MADE = re.compile(
    r"\b(?:define|create)\s+(?:sink\s+)?(?:stream|source|sink|table|store|window|trigger|function|aggregation)\s+"
    r"(?:(?:global|local)\s+)?(\w+)|\binto\s+#?(\w+)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class StatementSpan:
    """`start` and `end` are offsets in the text, the closing `;` included. `inner`: those of a partition's queries."""

    start: int
    end: int
    inner: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReadableApp:
    """What of a text can be read. `lost`: names that the statements which cannot be read would make."""

    app: App
    mistakes: tuple[AppTextError, ...]
    lost: frozenset[str]


def readable_app(text: str) -> ReadableApp:
    """Return all statements that are of the language, and the mistakes of the others, at most MOST_MISTAKES."""
    try:
        return ReadableApp(parse_app(text), (), frozenset())
    except AppTextError as error:
        first = error
    if len(text) > MOST_CHARACTERS:
        return ReadableApp(App((), (), ()), (first,), frozenset())
    parts: list[App] = []
    mistakes: list[AppTextError] = []
    lost: set[str] = set()
    for statement in statements(text):
        if len(mistakes) >= MOST_MISTAKES:
            break
        parts += _read(text, statement, mistakes, lost)
    if not any(one.at == first.at for one in mistakes):
        mistakes.append(first)
    definitions = tuple(one for part in parts for one in part.definitions)
    elements = tuple(one for part in parts for one in part.elements)
    annotations = tuple(one for part in parts for one in part.annotations)
    processors = tuple(one for part in parts for one in part.processors)
    return ReadableApp(App(annotations, definitions, elements, processors), tuple(mistakes), frozenset(lost))


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<skipped>{COMMENT}|\s+)|(?P<quoted>{QUOTED})|(?P<script>{script_pattern()})"
        r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<other>[\s\S])"
    )


def statements(text: str) -> Iterator[StatementSpan]:
    """Yield all statements that are not empty."""
    open_one = _OpenStatement(text)
    for token in _tokens().finditer(text):
        if token.lastgroup == "skipped":
            open_one.skip(token.end())
        elif (closed := open_one.take(token)) is not None:
            if not closed.is_empty:
                yield closed.span(token.end())
            open_one = _OpenStatement(text, token.end())
    if not open_one.is_empty:
        yield open_one.span(len(text))


@dataclass(slots=True)
class _OpenStatement:
    """`inner_start`: where the query of a partition begins that is read now; None outside of one."""

    text: str
    start: int = 0
    is_empty: bool = True
    is_partition: bool = False
    inner_start: int | None = None
    inner: list[tuple[int, int]] = field(default_factory=list)

    def skip(self, end: int) -> None:
        """Begin after white space and comments."""
        if self.is_empty:
            self.start = end

    def take(self, token: re.Match[str]) -> "_OpenStatement | None":
        """Return the statement if the token closes it."""
        word = token.group().lower()
        if self.inner_start is not None:
            self._take_inner(word, token, self.inner_start)
        elif word == ";":
            return self
        elif word == "begin" and self.is_partition:
            self.inner_start = token.end()
        elif word == "partition" and _WITH.match(self.text, token.end()):
            self.is_partition = True
        self.is_empty = False
        return None

    def _take_inner(self, word: str, token: re.Match[str], start: int) -> None:
        is_last = word == "end" and _CLOSES.match(self.text, token.end()) is not None
        if word == ";" or is_last:
            _add_inner(self.inner, self.text, start, token.start() if is_last else token.end())
            self.inner_start = None if is_last else token.end()

    def span(self, end: int) -> StatementSpan:
        if self.inner_start is not None:
            _add_inner(self.inner, self.text, self.inner_start, end)
        return StatementSpan(self.start, end, self.inner)


def _add_inner(inner: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    if re.sub(COMMENT, "", text[start:end]).strip(" \t\r\n;"):
        inner.append((start, end))


def _place_of(text: str, offset: int) -> str:
    """Return white space of as many lines and columns as there are before the offset."""
    line_start = text.rfind("\n", 0, offset) + 1
    return "\n" * text.count("\n", 0, offset) + " " * (offset - line_start)


def _read(text: str, statement: StatementSpan, mistakes: list[AppTextError], lost: set[str]) -> list[App]:
    """Return what of the statement can be read, as one app or none."""
    whole, place = text[statement.start : statement.end], _place_of(text, statement.start)
    try:
        return [parse_app(place + whole)]
    except AppTextError as error:
        problem = error
    broken = list(_broken_queries(text, statement))
    mistakes += [error for _, error in broken] or [problem]
    lost.update(name for span, _ in broken for name in _names(text[slice(*span)]))
    if 0 < len(broken) < len(statement.inner):
        for (start, end), _ in broken:
            before, after = whole[: start - statement.start], whole[end - statement.start :]
            whole = before + _blank(text[start:end]) + after
        try:
            return [parse_app(place + whole)]
        except AppTextError as error:
            mistakes.append(error)
    lost.update(_names(whole))
    return []


def _broken_queries(text: str, statement: StatementSpan) -> Iterator[tuple[tuple[int, int], AppTextError]]:
    """Yield the place and the mistake of each query of a partition that is not of the language."""
    for start, end in statement.inner:
        try:
            parse_app(_place_of(text, start) + text[start:end])
        except AppTextError as error:
            yield (start, end), error


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _names(text: str) -> Iterator[str]:
    return (found.group(1) or found.group(2) for found in _MADE.finditer(text))
