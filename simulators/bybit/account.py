"""Bybit's private endpoints for the account: balances, kind of account, key and fees."""

from market.money import ZERO, text_of
from simulators.bybit.endpoints import BybitEndpoint, check_spot, fields_named, integer_field, listing_field
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.request_fields import Fields, Row, milliseconds, optional_field

_UNIFIED_2_PRO = 6
"""docs/v5/acct-mode: the status of unified accounts of version 2.0, professional."""
_SUCCESS = 3
"""docs/v5/enum, depositStatus."""
_NOT_USED = ("borrowAmount", "accruedInterest", "totalOrderIM", "totalPositionIM", "totalPositionMM", "unrealisedPnl")
_NO_RATES = ("accountIMRate", "accountMMRate", "totalInitialMargin", "totalMaintenanceMargin", "totalPerpUPL")
_TRANSFERS = frozenset(("coin", "startTime", "endTime", "limit", "cursor", "txID"))
_NO_ROWS: Row = {"rows": [], "nextPageCursor": ""}
_PERMISSIONS = ("ContractTrade", "Options", "Derivatives", "CopyTrading", "BlockTrade", "Exchange", "NFT")


class BybitAccount:
    def __init__(self, exchange: SimulatedExchange, api_key: str) -> None:
        self._exchange = exchange
        self._api_key = api_key

    def endpoints(self) -> list[BybitEndpoint]:
        return [
            BybitEndpoint("GET", "/v5/account/wallet-balance", self._wallet, frozenset(("accountType", "coin"))),
            BybitEndpoint("GET", "/v5/account/info", self._info),
            BybitEndpoint("GET", "/v5/account/fee-rate", self._fees, fields_named("symbol")),
            BybitEndpoint("GET", "/v5/user/query-api", self._key),
            BybitEndpoint("GET", "/v5/asset/coin/query-info", self._coins, frozenset(("coin",))),
            BybitEndpoint("GET", "/v5/asset/deposit/query-record", self._deposits, _TRANSFERS),
            # nothing is withdrawn
            BybitEndpoint(
                "GET",
                "/v5/asset/withdraw/query-record",
                lambda _: _NO_ROWS,
                _TRANSFERS | {"withdrawID", "withdrawType"},
            ),
        ]

    def wallet_row(self, coins: frozenset[str] = frozenset()) -> Row:
        """Return the account with its `coins`; all that are not zero if none are named. Sums in dollars are not
        simulated."""
        customer = self._exchange.customer
        held = customer.held()
        rows = [
            {
                "coin": name,
                "walletBalance": text_of(total),
                "equity": text_of(total),
                "locked": text_of(held[name]),
                "usdValue": "",
                "availableToWithdraw": "",
                "availableToBorrow": "",
                "bonus": "0",
                "cumRealisedPnl": "0",
                "collateralSwitch": False,
                "marginCollateral": False,
                **dict.fromkeys(_NOT_USED, "0"),
            }
            for name, total in customer.balances.items()
            if (name in coins if coins else total != ZERO)
        ]
        sums = dict.fromkeys(("totalEquity", "totalWalletBalance", "totalMarginBalance", "totalAvailableBalance"), "")
        return {"accountType": "UNIFIED", "accountLTV": "0", **sums, **dict.fromkeys(_NO_RATES, ""), "coin": rows}

    def _wallet(self, fields: Fields) -> object:
        if fields.get("accountType") != "UNIFIED":
            raise RequestRejectedError("invalid_request", "accountType only support UNIFIED.")
        names = optional_field(fields, "coin")
        coins = frozenset() if names is None else frozenset(names.split(","))
        if coins - self._exchange.customer.balances.keys():
            raise RequestRejectedError("invalid_request", "coin is invalid")
        return {"list": [self.wallet_row(coins)]}

    def _info(self, _: Fields) -> object:
        return {
            "unifiedMarginStatus": _UNIFIED_2_PRO,
            "marginMode": "REGULAR_MARGIN",
            "isMasterTrader": False,
            "spotHedgingStatus": "OFF",
            "dcpStatus": "OFF",
            "timeWindow": 0,
            "smpGroup": 0,
            "updatedTime": milliseconds(self._exchange.customer.opened_at),
        }

    def _fees(self, fields: Fields) -> object:
        check_spot(fields)
        listings = self._exchange.listings_by_id
        wanted = [listing_field(fields, listings)] if "symbol" in fields else list(listings.values())
        rows = [
            {
                "symbol": listing.market_id,
                "takerFeeRate": text_of(listing.taker_rate),
                "makerFeeRate": text_of(listing.maker_rate),
            }
            for listing in wanted
        ]
        return {"category": "spot", "list": rows}

    def _key(self, _: Fields) -> object:
        wallet = ["AccountTransfer", *(("Withdraw",) if self._exchange.funding.may_withdraw else ())]
        return {
            "id": "1",
            "note": "simulated",
            "apiKey": self._api_key,
            "readOnly": 0,
            "secret": "",
            "permissions": {"Spot": ["SpotTrade"], "Wallet": wallet, **{name: [] for name in _PERMISSIONS}},
            "ips": ["*"],
            "type": 1,
            "unified": 0,
            "uta": 1,
            "userID": 1,
            "inviterID": 0,
            "vipLevel": "No VIP",
            "mktMakerLevel": "0",
            "affiliateID": 0,
            "isMaster": True,
            "parentUid": "0",
        }

    def _deposits(self, fields: Fields) -> object:
        """Return what the account was funded with."""
        wanted, opened = optional_field(fields, "coin"), self._exchange.customer.opened_at
        since = integer_field(fields, "startTime", 0)
        until = integer_field(fields, "endTime", opened // 1_000)
        rows = [
            {
                "coin": name,
                "chain": "",
                "amount": text_of(amount),
                "txID": f"opening deposit {number}",
                "status": _SUCCESS,
                "toAddress": "",
                "tag": "",
                "depositFee": "",
                "successAt": milliseconds(opened),
                "confirmations": "1",
                "txIndex": "",
                "blockHash": "",
            }
            for number, (name, amount) in enumerate(self._exchange.customer.opening.items(), 1)
            if wanted in (None, name) and since <= opened // 1_000 <= until
        ]
        named = [row for row in rows if fields.get("txID") in (None, row["txID"])]
        return {"rows": named, "nextPageCursor": ""}

    def _coins(self, fields: Fields) -> object:
        """Return currencies without a network to deposit from or to withdraw to."""
        wanted = optional_field(fields, "coin")
        names = [name for name in self._exchange.customer.balances if wanted in (None, name)]
        return {"rows": [{"name": name, "coin": name, "remainAmount": "0", "chains": []} for name in names]}
