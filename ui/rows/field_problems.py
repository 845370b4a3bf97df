"""Which field of an input is wrong, and why, in a person's words."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from market.validation_messages import fault_text, place_of


class FieldProblem(TypedDict):
    """`field` is dotted; "settings" or "request" where the whole is wrong."""

    field: str
    why: str


def field_problems(errors: Sequence[Any], whole: str) -> list[FieldProblem]:
    """From pydantic's errors; `whole` names what an error without a field is about."""
    return [FieldProblem(field=place_of(error, whole), why=fault_text(error)) for error in errors]


def words_of(problems: Sequence[FieldProblem], labels: Mapping[str, str] | None = None) -> str:
    """All of them in a sentence without its stop; `labels`: field → what people know it by."""
    names = labels or {}
    return "; ".join(f"{names.get(name, name)}: {why}" for name, why in map(_named, problems))


def _named(problem: FieldProblem) -> tuple[str, str]:
    """Where in a request it stood is no part of a field's name."""
    return problem["field"].removeprefix("body.").removeprefix("query."), problem["why"]
