"""Validation errors as one plain sentence for users.

The one translation of pydantic's errors, used by configuration, REST, pages and commands.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from market.money import decimal_of

_NUMBER, _WHOLE, _TABLE = "must be a number", "must be a whole number", "must be a table of names and values"
_WORDS: Mapping[str, str] = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "bytes_type": "must be text",
    "dataclass_type": _TABLE,
    "decimal_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "dict_type": _TABLE,
    "enum": "must be {expected}",
    "extra_forbidden": "there is no such setting",
    "finite_number": "must be a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_type": _WHOLE,
    "json_invalid": "must be JSON",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "mapping_type": _TABLE,
    "missing": "is missing",
    "model_attributes_type": _TABLE,
    "model_type": _TABLE,
    "none_required": "must be left out",
    "set_type": "must be a list",
    "string_pattern_mismatch": "must have the form {pattern}",
    "string_too_long": "must be at most {max_length} characters long",
    "string_too_short": "must be at least {min_length} characters long",
    "string_type": "must be text",
    "string_unicode": "must be text in UTF-8",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "tuple_type": "must be a list",
    "unexpected_keyword_argument": "there is no such setting",
}
"""Kind of error → what it is called; in braces what pydantic says of its limits."""


def fault_text(fault: Mapping[str, Any]) -> str:
    """Describe one of pydantic's errors, without the place: it stands before, as in "port: must be a whole number"."""
    words = _WORDS.get(fault["type"])
    if words is None:
        # rules of our own say it themselves
        return str(fault["msg"]).removeprefix("Value error, ")
    return words.format(**{name: _shown(value) for name, value in fault.get("ctx", {}).items()})


def place_of(fault: Mapping[str, Any], whole: str) -> str:
    """Dotted; `whole` if no field of it alone is wrong."""
    return ".".join(str(part) for part in fault["loc"]) or whole


def error_text(error: ValidationError, whole: str) -> str:
    """All that is wrong in one line: where, and what. `whole` names what is wrong if no field is."""
    return sentence_of(error.errors(), whole)


def sentence_of(faults: Sequence[Mapping[str, Any]], whole: str) -> str:
    return "; ".join(f"{place_of(fault, whole)}: {fault_text(fault)}" for fault in faults)


def _shown(value: object) -> str:
    """Return a limit as people write it: behind a validator of ours it comes as `Decimal('0.1')`."""
    text = str(value).removeprefix("Decimal('").removesuffix("')")
    if text == value or not isinstance(value, int | float | Decimal | str):
        return text
    return f"{decimal_of(text).normalize():,f}"
