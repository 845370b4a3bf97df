"""Kraken's rejections, over REST and WebSocket."""

from simulators.matching.funding import WithdrawalRejectedError
from simulators.matching.order_records import Reason, RequestRejectedError

_ERRORS: dict[Reason, str] = {
    "unknown_key": "EAPI:Invalid key",
    "signature": "EAPI:Invalid signature",
    "nonce": "EAPI:Invalid nonce",
    "insufficient_funds": "EOrder:Insufficient funds",
    "amount_too_small": "EOrder:Order minimum not met",
    "amount_invalid": "EGeneral:Invalid arguments:volume",
    "price_invalid": "EGeneral:Invalid arguments:price",
    "too_precise": "EOrder:Invalid price:{detail}",
    "client_id_invalid": "EGeneral:Invalid arguments:cl_ord_id",
    "client_id_used": "EOrder:Invalid order:cl_ord_id already in use",
    "unknown_order": "EOrder:Unknown order",
    "order_ended": "EOrder:Unknown order",
    "order_rejected": "EOrder:{detail}",
    "unknown_market": "EQuery:Unknown asset pair",
    "invalid_request": "EGeneral:Invalid arguments:{detail}",
    "rate_limited": "EAPI:Rate limit exceeded",
    "banned": "EGeneral:Temporary lockout",
    "maintenance": "EService:Unavailable",
    "market_closed": "EService:Market in {detail} mode",
    "unavailable": "EService:Busy",
    "unknown_path": "EGeneral:Unknown method",
    "too_late": "EService:Deadline elapsed",
}


# words of its own for funding, as clients list them
_OF_FUNDING = {
    "no_right": "EGeneral:Permission denied",
    "closed": "EFunding:No funding method",
    "unknown_address": "EFunding:Unknown withdraw key",
    "too_little": "EFunding:Invalid amount",
    "too_much": "EFunding:Invalid amount",
}


def error_text(error: RequestRejectedError) -> str:
    if isinstance(error, WithdrawalRejectedError):
        return _OF_FUNDING[error.why]
    if (error.reason, error.detail) == ("rate_limited", "engine"):
        # of orders, by the trading engine: https://docs.kraken.com/exchange/guides/general/ratelimits
        return "EOrder:Rate limit exceeded"
    text = _ERRORS.get(error.reason, "EGeneral:Invalid arguments")
    return text.format(detail=error.detail).rstrip(":")
