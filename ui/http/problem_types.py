"""The kinds of problems there are, each with an address of its own that says what to do about it."""

from fastapi import APIRouter
from typing_extensions import TypedDict

from ui.http.problems import PROBLEM_RESPONSE, PROBLEM_TYPES, ProblemError, ProblemType, type_address

router = APIRouter(prefix="/problems", tags=["problems"])


class ProblemTypeRow(TypedDict):
    """`type` is what a problem's own `type` says."""

    type: str
    status: int
    title: str
    advice: str


@router.get("")
async def problem_types() -> list[ProblemTypeRow]:
    """Every kind of problem that this service answers with."""
    return [_row(one) for one in PROBLEM_TYPES]


@router.get("/{name}", responses={404: PROBLEM_RESPONSE})
async def problem_type(name: str) -> ProblemTypeRow:
    """What it means and what to do."""
    found = next((one for one in PROBLEM_TYPES if one.name == name), None)
    if found is None:
        raise ProblemError(404, f"There is no kind of problem {name}.")
    return _row(found)


def _row(one: ProblemType) -> ProblemTypeRow:
    return ProblemTypeRow(type=type_address(one), status=one.status, title=one.title, advice=one.advice)
