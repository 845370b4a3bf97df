"""Outcomes of opportunities, from their arbitrages and rejections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pymongo import ASCENDING

from market.money import ZERO
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, REJECTIONS, amount_of, text_or_none

OutcomeName = Literal["taken", "rejected", "expired"]


@dataclass(frozen=True, slots=True)
class OpportunityOutcome:
    """`taken`: both legs were reserved. `rejected`: a check said no. `expired`: it expired undecided."""

    name: OutcomeName
    state: str | None = None
    """The state of the arbitrage, if one was begun."""
    reason: str | None = None
    """The first check that rejected; of a taken one, why it ended without closing."""
    net: Decimal | None = None
    """Realised P&L in the settlement currency, once it has ended."""


EXPIRED = OpportunityOutcome("expired")


async def read_outcomes(database: Database, opportunity_ids: Sequence[str]) -> dict[str, OpportunityOutcome]:
    """Return the outcomes of those given; two reads by index, whatever their number. Raises StoreUnavailableError."""
    fields = {"state": 1, "reason": 1, "profit.net": 1}
    named: Document = {"opportunity_id": {"$in": list(opportunity_ids)}}
    with translated_errors():
        found = database[ARBITRAGES].find({"_id": {"$in": list(opportunity_ids)}}, fields)
        begun = {str(document["_id"]): document async for document in found}
        rejected = (
            database[REJECTIONS]
            .find(named, {"_id": 0, "opportunity_id": 1, "reason": 1, "at": 1})
            .sort("at", ASCENDING)
        )
        reasons: dict[str, str] = {}
        async for document in rejected:
            reasons.setdefault(str(document["opportunity_id"]), str(document["reason"]))
    return {identity: outcome_of(begun.get(identity), reasons.get(identity)) for identity in opportunity_ids}


def outcome_of(arbitrage: Mapping[str, object] | None, rejection: str | None) -> OpportunityOutcome:
    """`arbitrage`: what is stored of it; `rejection`: the first reason against it."""
    if arbitrage is None:
        return EXPIRED if rejection is None else OpportunityOutcome("rejected", reason=rejection)
    state, reason = text_or_none(arbitrage.get("state")), text_or_none(arbitrage.get("reason"))
    return OpportunityOutcome("taken", state, reason, _net_of(arbitrage))


def _net_of(arbitrage: Mapping[str, object]) -> Decimal | None:
    profit = arbitrage.get("profit")
    return amount_of(profit.get("net", str(ZERO))) if isinstance(profit, dict) else None
