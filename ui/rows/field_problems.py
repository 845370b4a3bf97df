"""Which field of an input is wrong, and why, in a person's words."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from market.validation_messages import fault_text, place_of


class FieldProblem(TypedDict):
    """`field` is dotted; "settings" or "request" if the whole is wrong."""

    field: str
    why: str


def field_problems(errors: Sequence[Any], whole: str) -> list[FieldProblem]:
    """Return the problems from pydantic's errors; `whole` names what an error without a field is about."""
    return [FieldProblem(field=place_of(error, whole), why=fault_text(error)) for error in errors]


def words_of(problems: Sequence[FieldProblem], labels: Mapping[str, str] | None = None) -> str:
    """Return all of them in a sentence without its full stop; `labels`: field → its name for people."""
    names = labels or {}
    return "; ".join(f"{names.get(name, name)}: {why}" for name, why in map(_named, problems))


def _named(problem: FieldProblem) -> tuple[str, str]:
    """Return the field's name and the problem; the part of the request that it stood in is dropped."""
    return problem["field"].removeprefix("body.").removeprefix("query."), problem["why"]
