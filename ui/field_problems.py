"""Which field of an input is wrong, and why, in a person's words."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict


class FieldProblem(TypedDict):
    """`field` is dotted; "settings" or "request" where the whole is wrong."""

    field: str
    why: str


def field_problems(errors: Sequence[Any], whole: str) -> list[FieldProblem]:
    """From pydantic's errors; `whole` names what an error without a field is about."""
    return [
        FieldProblem(field=".".join(str(part) for part in error["loc"]) or whole, why=_why(error)) for error in errors
    ]


def _why(error: dict[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such setting"
    return str(error["msg"]).removeprefix("Value error, ")
