"""OKX's private endpoints for the account: balances, its mode and rights, fees, currencies and transfers."""

from collections.abc import Collection

from market.money import ZERO, text_of
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.endpoints import OkxEndpoint, Rows, integer_field, is_spot, known, limit_field, listing_field
from simulators.okx.rows import fee_group, market_row
from simulators.web.request_fields import Fields, Row, milliseconds, optional_field

_SUCCESS = "2"
_OF_MARGIN = (
    *("availEq", "crossLiab", "disEq", "eqUsd", "fixedBal", "imr", "interest", "isoEq", "isoLiab", "isoUpl", "liab"),
    *("maxLoan", "mgnRatio", "mmr", "notionalLever", "smtSyncEq", "spotIsoBal", "stgyEq", "twap", "upl", "uplLiab"),
)
_SUMS = ("adjEq", "imr", "isoEq", "mgnRatio", "mmr", "notionalUsd", "ordFroz", "totalEq", "upl")
_MOST_TRANSFERS = 100


class OkxAccount:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def endpoints(self) -> list[OkxEndpoint]:
        transfers = known("ccy", "txId", "type", "state", "after", "before", "limit")
        return [
            OkxEndpoint("GET", "/api/v5/account/balance", self._balance, known("ccy")),
            OkxEndpoint("GET", "/api/v5/account/config", self._configuration),
            OkxEndpoint("GET", "/api/v5/account/trade-fee", self._fees, known("instType", "instId")),
            OkxEndpoint("GET", "/api/v5/account/instruments", self._instruments, known("instType", "instId")),
            OkxEndpoint("GET", "/api/v5/asset/currencies", self._currencies, known("ccy")),
            # the funding account, from which nothing is traded
            OkxEndpoint("GET", "/api/v5/asset/balances", lambda _: [], known("ccy")),
            OkxEndpoint("GET", "/api/v5/asset/deposit-history", self._deposits, transfers | {"depId", "fromWdId"}),
            # nothing is withdrawn
            OkxEndpoint(
                "GET", "/api/v5/asset/withdrawal-history", lambda _: [], transfers | {"wdId", "clientId", "toAddrType"}
            ),
        ]

    def balance_row(self, names: Collection[str] = ()) -> Row:
        """Return the account with the coins of these `names`, all that are not zero if there are none. Sums in dollars
        are not simulated."""
        customer, now = self._exchange.customer, milliseconds(self._exchange.clock.now())
        held = customer.held()
        details = [
            {
                "ccy": name,
                "cashBal": text_of(total),
                "eq": text_of(total),
                "availBal": text_of(total - held[name]),
                "frozenBal": text_of(held[name]),
                "ordFrozen": text_of(held[name]),
                **dict.fromkeys(_OF_MARGIN, ""),
                "uTime": now,
            }
            for name, total in customer.balances.items()
            if (name in names if names else total != ZERO)
        ]
        return {**dict.fromkeys(_SUMS, ""), "details": details, "uTime": now}

    def _balance(self, fields: Fields) -> Rows:
        return [self.balance_row(self._named(fields) or ())]

    def _named(self, fields: Fields) -> Collection[str] | None:
        """Return the currencies that `ccy` names, None if it does not. Raises RequestRejectedError."""
        names = optional_field(fields, "ccy")
        if names is None:
            return None
        wanted = names.split(",")
        if not self._exchange.customer.balances.keys() >= set(wanted):
            raise RequestRejectedError("invalid_request", "ccy")
        return wanted

    def _configuration(self, _: Fields) -> Rows:
        may_withdraw = ("withdraw",) if self._exchange.funding.may_withdraw else ()
        return [
            {
                "uid": "1",
                "mainUid": "1",
                # spot mode
                "acctLv": "1",
                "acctStpMode": "cancel_maker",
                "posMode": "net_mode",
                "autoLoan": False,
                "enableSpotBorrow": False,
                "spotBorrowAutoRepay": False,
                # fees are of what is received
                "feeType": "0",
                "level": "Lv1",
                "label": "simulated",
                "perm": ",".join(("read_only", *may_withdraw, "trade")),
                "ip": "",
                "type": "0",
                "kycLv": "3",
                "roleType": "0",
                "spotRoleType": "0",
                "opAuth": "0",
                "traderInsts": [],
                "spotTraderInsts": [],
                **dict.fromkeys(("greeksType", "ctIsoMode", "mgnIsoMode", "liquidationGear", "levelTmp"), ""),
            }
        ]

    def _fees(self, fields: Fields) -> Rows:
        if not is_spot(fields, needs_it=True):
            return []
        listings = self._exchange.listings_by_id
        wanted = [listing_field(fields, listings)] if "instId" in fields else list(listings.values())
        groups = {fee_group(listing.market): _rates(listing) for listing in wanted}
        usual = next(listing for listing in listings.values() if fee_group(listing.market) == "1")
        names = ("makerU", "takerU", "makerUSDC", "takerUSDC", "delivery", "exercise")
        return [
            {
                # of the markets in USDT, whatever is asked for
                **_rates(usual),
                **dict.fromkeys(names, ""),
                "feeGroup": [{"groupId": number, **rates} for number, rates in groups.items()],
                "fiat": [],
                "instType": "SPOT",
                "level": "Lv1",
                "category": "1",
                "ruleType": "normal",
                "ts": milliseconds(self._exchange.clock.now()),
            }
        ]

    def _instruments(self, fields: Fields) -> Rows:
        return instruments(self._exchange, fields)

    def _currencies(self, fields: Fields) -> Rows:
        """Return currencies without a network to deposit from or to withdraw to."""
        names = self._named(fields)
        return [
            {
                "ccy": name,
                "name": name,
                "chain": f"{name}-{name}",
                "canDep": False,
                "canWd": False,
                "canInternal": False,
                "mainNet": True,
                **dict.fromkeys(("minDep", "minWd", "maxWd", "fee", "minFee", "maxFee", "usedWdQuota", "wdQuota"), "0"),
                "wdTickSz": "8",
            }
            for name in self._exchange.customer.balances
            if names is None or name in names
        ]

    def _deposits(self, fields: Fields) -> Rows:
        """Return what the account was funded with."""
        names, opened = self._named(fields), self._exchange.customer.opened_at // 1_000
        after, before = integer_field(fields, "after"), integer_field(fields, "before")
        rows: list[Row] = [
            {
                "ccy": name,
                "chain": f"{name}-{name}",
                "amt": text_of(amount),
                "from": "",
                "areaCodeFrom": "",
                "to": "",
                "txId": f"opening deposit {number}",
                "depId": str(number),
                "fromWdId": "",
                "ts": str(opened),
                "state": _SUCCESS,
                "actualDepBlkConfirm": "1",
            }
            for number, (name, amount) in enumerate(self._exchange.customer.opening.items(), 1)
            if (names is None or name in names) and (after is None or opened < after) and opened > (before or 0)
        ]
        given = {name: fields[name] for name in ("txId", "depId", "fromWdId", "state") if optional_field(fields, name)}
        # of the types there is no other than deposits from a blockchain
        is_listed = optional_field(fields, "type") in (None, "4")
        found = [row for row in rows if is_listed and all(row[name] == str(one) for name, one in given.items())]
        return found[: limit_field(fields, _MOST_TRANSFERS, _MOST_TRANSFERS)]


def _rates(listing: Listing) -> dict[str, str]:
    """Return what is taken with a minus."""
    return {"maker": text_of(-listing.maker_rate), "taker": text_of(-listing.taker_rate)}


def instruments(exchange: SimulatedExchange, fields: Fields) -> Rows:
    """Return the markets; there are no derivatives, which ccxt asks for, too."""
    if not is_spot(fields, needs_it=True):
        return []
    named = listing_field(fields, exchange.listings_by_id) if "instId" in fields else None
    listed = enumerate(exchange.listings_by_id.values(), 1)
    return [market_row(listing, number) for number, listing in listed if named in (None, listing)]
