"""The labels as a script that pages import, so that Python and the browser use the same words."""

import orjson
from fastapi import APIRouter
from fastapi.responses import Response

from exchanges.labels import exchange_labels
from ui.http.memory_files import REVALIDATED
from wording.definitions import DEFINITIONS
from wording.labels import PROFIT_PARTS, REASONS, ROLES, STATES
from wording.number_format import MONEY_STEPS, SIGNS

router = APIRouter(include_in_schema=False)


@router.get("/assets/labels.js")
async def labels() -> Response:
    """Return the script; browsers revalidate it each time, as all scripts."""
    return Response(labels_script(), media_type="text/javascript", headers={"Cache-Control": REVALIDATED})


def labels_script() -> str:
    """Return the script's text. `DIGITS`: decimals of currencies that do not have two."""
    digits = {currency: max(0, -int(step.as_tuple().exponent)) for currency, step in MONEY_STEPS.items()}
    tables = {
        "EXCHANGES": exchange_labels(),
        "STATES": STATES,
        "REASONS": REASONS,
        "LEG_ROLES": ROLES,
        "PROFIT_PARTS": PROFIT_PARTS,
        "SIGNS": SIGNS,
        "DIGITS": digits,
        "DEFINITIONS": DEFINITIONS,
    }
    return "".join(f"export const {name} = {orjson.dumps(dict(rows)).decode()};\n" for name, rows in tables.items())
