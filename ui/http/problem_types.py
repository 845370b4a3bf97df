"""The problem types; each has an address that says what to do about it."""

from fastapi import APIRouter
from typing_extensions import TypedDict

from ui.http.problems import PROBLEM_RESPONSE, PROBLEM_TYPES, ProblemError, type_address
from ui.rows.attribute import row_from

router = APIRouter(prefix="/problems", tags=["problems"])


class ProblemTypeRow(TypedDict):
    """A kind of problem; a problem's own `type` is this `type`."""

    type: str
    status: int
    title: str
    advice: str


@router.get("")
async def problem_types() -> list[ProblemTypeRow]:
    """Return every kind of problem that this service answers with."""
    return [row_from(ProblemTypeRow, one, type=type_address(one)) for one in PROBLEM_TYPES]


@router.get("/{name}", responses={404: PROBLEM_RESPONSE})
async def problem_type(name: str) -> ProblemTypeRow:
    """Return what a kind of problem means and what to do."""
    found = next((one for one in PROBLEM_TYPES if one.name == name), None)
    if found is None:
        raise ProblemError(404, f"There is no kind of problem {name}.")
    return row_from(ProblemTypeRow, found, type=type_address(found))
