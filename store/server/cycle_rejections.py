"""Rejections of cycles as they lie in MongoDB."""

from collections.abc import Mapping

from pydantic import TypeAdapter

from runtime.clock import wall_now
from store.records.cycle_rejection import CycleRejection
from store.server.client import Document
from store.server.documents import date_of, value_of

_REJECTION = TypeAdapter(CycleRejection)


def cycle_rejection_update(rejection: CycleRejection, session_id: str) -> tuple[Document, Document]:
    """Return filter and update of an upsert: a repeat, or an earlier count, changes nothing."""
    first: Document = _REJECTION.dump_python(rejection, mode="json", exclude={"count"})
    own = {"session_id": session_id, "at": rejection.rejected_at, "recorded_at": date_of(wall_now())}
    return {"_id": rejection.rejection_id}, {"$setOnInsert": first | own, "$max": {"count": rejection.count}}


def cycle_rejection_of(document: Mapping[str, object]) -> CycleRejection:
    """Raise StoreError if it is of another version of this program."""
    return value_of(_REJECTION, document)
