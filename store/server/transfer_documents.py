"""Transfers as documents of MongoDB."""

from collections.abc import Mapping

from pydantic import TypeAdapter

from market.accounting.transfer_lifecycle import MoneyTransfer
from store.server.client import Document
from store.server.documents import document_of, value_of

_TRANSFER = TypeAdapter(MoneyTransfer)


def transfer_document(transfer: MoneyTransfer) -> Document:
    """Return the document; `at`: when it was proposed, `changed_at`: its last step."""
    times = {"at": transfer.times["proposed"], "changed_at": max(transfer.times.values())}
    across = {"is_across": True} if transfer.is_across else {}
    return document_of(_TRANSFER, transfer) | times | across | {"_id": transfer.transfer_id}


def transfer_of(document: Mapping[str, object]) -> MoneyTransfer:
    """Raise StoreError if the document is of another version of this program."""
    return value_of(_TRANSFER, document)
