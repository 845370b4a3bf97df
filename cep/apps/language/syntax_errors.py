"""What the parser stumbled over, in the words of the person who wrote the text."""

import re
from difflib import get_close_matches

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place
from cep.apps.language.grammar_parser import terminals

WORD = re.compile(r"\w+|\S")
MOST_NAMED = 10
WORDS = {
    "ID": "a name",
    "QUOTED_ID": "a name",
    "STRING": "a string",
    "INT": "a whole number",
    "LONG": "a number",
    "FLOAT": "a number",
    "DOUBLE": "a number",
    "SCRIPT": "the function's body in braces",
    "$END": "the end of the text",
}
TYPES = ["string", "int", "long", "float", "double", "decimal", "bool", "object"]
UNITS = ["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
UNIT_WORDS = ["milliseconds", "sec", "seconds", "min", "minutes", "hours", "days", "weeks", "months", "years"]
GROUPS: dict[str, frozenset[str]] = {
    "an expression": frozenset(
        [
            "ID",
            "QUOTED_ID",
            "STRING",
            "INT",
            "LONG",
            "FLOAT",
            "DOUBLE",
            "TRUE",
            "FALSE",
            "NOT",
            "MINUS",
            "PLUS",
            "HASH",
            "BANG",
            "LPAR",
        ]
    ),
    "an operator": frozenset(
        [
            "PLUS",
            "MINUS",
            "STAR",
            "SLASH",
            "PERCENT",
            "AT_LEAST",
            "AT_MOST",
            "LESS",
            "MORE",
            "IS_EQUAL",
            "IS_UNEQUAL",
            "AND",
            "OR",
            "_IN",
            "_IS",
        ]
    ),
    "a type (" + ", ".join(TYPES) + ")": frozenset(f"{name.upper()}_TYPE" for name in TYPES),
    "a unit of time": frozenset(UNITS),
    "a number": frozenset(["INT", "LONG", "FLOAT", "DOUBLE"]),
}
"""Where a whole group is expected, its name stands for it."""
SHORT_UNITS = {"ms": "millisec", "s": "sec", "m": "min", "h": "hour", "d": "day"}
FRACTION = re.compile(r"\d\.\d*\s*$")
DISTINCT_COUNT = re.compile(r"\bcount\s*\(\s*distinct\s*$", re.IGNORECASE)
HABITS = {
    "where": "write the condition in brackets behind the stream, as in `from S[price > 1.0]`",
    "like": "write str:contains(text, part), str:startsWith(text, part) or regex:matches(pattern, text)",
    "between": "write `price >= 1.0 and price <= 2.0`",
    "hop": "a hopping window is HOPPING(size, hop) behind WINDOW, or #window.hopping(size, hop)",
}
"""Words of SQL that this language has not, and what there is."""


def place_at(text: str, offset: int) -> Place:
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def syntax_error(text: str, error: UnexpectedInput) -> AppTextError:
    offset = _offset(text, error)
    found = WORD.match(text, offset)
    word = found.group()[:30] if found else ""
    at = place_at(text, offset)
    if isinstance(error, UnexpectedCharacters) and word in ("'", '"', "`", "{"):
        return AppTextError(at, f"what {word} begins has no end: the closing {'}' if word == '{' else word} is missing")
    expected = _expected(error)
    what = f"`{word}` is unexpected" if word else "the text ends too early"
    named = _named(expected)
    habit = _habit(word.lower(), text[:offset], expected)
    if habit:
        return AppTextError(at, f"{what}: {habit}", tuple(named))
    nearest = get_close_matches(word.lower(), _known_words(expected), n=1, cutoff=0.7) if word else []
    advice = f" (did you mean `{nearest[0]}`?)" if nearest else ""
    problem = f"{what}{advice}: expected {_in_words(named)}"
    return AppTextError(at, problem, tuple(named), nearest[0] if nearest else None)


def _habit(word: str, before: str, expected: set[str]) -> str | None:
    """Return what to write, if the word is a habit from elsewhere, or what is missing. `before`: the text up to
    it."""
    words = before.split()
    last = words[-1].lower() if words else ""
    if word in SHORT_UNITS and expected & set(UNITS):
        return f"write `{SHORT_UNITS[word]}`"
    said = (
        (word == "=" and "IS_EQUAL" in expected, "equal is `==`"),
        (word == ">" and last.endswith("<"), "unequal is `!=`"),
        (
            word == "when" and last.endswith("case"),
            "write ifThenElse(condition, value, other value) in place of `case`",
        ),
        (word in ("", ";") and "_END" in expected, "an `end` is missing: a partition ends with `end;`"),
        (word in ("", ";") and "_INSERT" in expected, "an `insert into` is missing: a query says where its rows go"),
        (_is_fraction_of_time(word, before, expected), "a time has whole numbers, as `1 sec 500 milliseconds`"),
        (bool(DISTINCT_COUNT.search(before)), "write distinctCount(…), which counts different values"),
        (
            word in ("and", "or") and "_WITHIN" in expected and "AND" not in expected,
            "`and` and `or` join two steps, not more: write the third one after `->`, or in a pattern of its own",
        ),
    )
    return next((advice for is_so, advice in said if is_so), HABITS.get(word))


def _is_fraction_of_time(word: str, before: str, expected: set[str]) -> bool:
    """As in `0.5 sec` and `for 0.5 sec`."""
    if word == ".":
        return bool(expected & set(UNITS))
    return _is_unit(word) and bool(FRACTION.search(before))


def _is_unit(word: str) -> bool:
    """Tell if it is a unit of time, as `sec` or `milliseconds`."""
    return word in UNIT_WORDS or word.rstrip("s") in (*SHORT_UNITS.values(), "second", "minute", "millisecond")


def _offset(text: str, error: UnexpectedInput) -> int:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return len(text.rstrip())
    return error.pos_in_stream or 0


def _expected(error: UnexpectedInput) -> set[str]:
    """Terminals' names: what the parser would really take, if it can say so."""
    parser = getattr(error, "interactive_parser", None)
    if parser is not None:
        return set(parser.accepts())
    return set(error.expected if isinstance(error, UnexpectedToken) else getattr(error, "allowed", ()))


def _known_words(expected: set[str]) -> list[str]:
    types = [name for name in TYPES if f"{name.upper()}_TYPE" in expected]
    units = UNIT_WORDS if expected & set(UNITS) else []
    keywords = [name.strip("_").lower() for name in expected if _is_keyword(name)]
    return sorted([*types, *units, *keywords])


def _is_keyword(name: str) -> bool:
    is_word = name not in WORDS and name not in UNITS and not name.endswith("_TYPE")
    terminal = terminals().get(name)
    return is_word and terminal is not None and not isinstance(terminal.pattern, PatternStr)


def _named(expected: set[str]) -> list[str]:
    rest = set(expected)
    named = []
    for words, group in GROUPS.items():
        if group <= rest:
            named.append(words)
            rest -= group
    return named + sorted({_word(name) for name in rest} - set(named))


def _in_words(named: list[str]) -> str:
    shown = named[:MOST_NAMED]
    if len(shown) < len(named):
        return ", ".join([*shown, "…"])
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _word(name: str) -> str:
    if name in WORDS:
        return WORDS[name]
    terminal = terminals().get(name)
    if terminal is not None and isinstance(terminal.pattern, PatternStr):
        return f"`{terminal.pattern.value}`"
    return f"`{name.removesuffix('_TYPE').strip('_').lower()}`"
