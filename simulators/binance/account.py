"""Binance's signed endpoints for the account: balances, fees, and what ccxt asks of currencies."""

from market.money import ZERO, text_of
from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    eight_decimals,
    symbol_field,
    time_field,
    timestamp,
    until_field,
)
from simulators.binance.rows import rates_row
from simulators.matching.simulated_exchange import SimulatedExchange

_BPS = 10_000
_TRANSFERS = frozenset(("coin", "status", "offset", "limit", "startTime", "endTime", "txId"))
_FIAT = frozenset(("transactionType", "beginTime", "endTime", "page", "rows"))
_NAMES = {"BTC": "Bitcoin", "USDT": "TetherUS"}


class BinanceAccount:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id

    def endpoints(self) -> list[Endpoint]:
        of_symbol = frozenset(("symbol",))
        return [
            Endpoint("GET", "/api/v3/account", 20, self._account, frozenset(("omitZeroBalances",))),
            Endpoint("GET", "/api/v3/account/commission", 20, self._commission, of_symbol),
            Endpoint("GET", "/sapi/v1/asset/tradeFee", 1, self._fees, of_symbol),
            Endpoint("GET", "/sapi/v1/account/apiRestrictions", 1, self._restrictions),
            Endpoint("GET", "/sapi/v1/capital/config/getall", 10, self._currencies),
            Endpoint("GET", "/sapi/v1/asset/assetDetail", 1, self._details, frozenset(("asset",))),
            # nothing is withdrawn; no fiat account is there beside
            Endpoint("GET", "/sapi/v1/capital/deposit/hisrec", 1, self._deposits, _TRANSFERS | {"includeSource"}),
            Endpoint("GET", "/sapi/v1/capital/withdraw/history", 1, lambda _: [], _TRANSFERS | {"withdrawOrderId"}),
            Endpoint("GET", "/sapi/v1/fiat/orders", 1, lambda _: {"code": "000000", "data": [], "total": 0}, _FIAT),
            # nothing is lent here
            Endpoint("GET", "/sapi/v1/margin/allPairs", 1, lambda _: []),
            Endpoint("GET", "/sapi/v1/margin/isolated/allPairs", 10, lambda _: []),
        ]

    def balance_rows(self) -> dict[str, tuple[str, str]]:
        """Return currency → free and locked."""
        held = self._exchange.customer.held()
        balances = self._exchange.customer.balances
        return {
            name: (eight_decimals(total - held[name]), eight_decimals(held[name])) for name, total in balances.items()
        }

    def _account(self, fields: Fields) -> object:
        tier = self._exchange.tier
        leaves_out_empty = fields.get("omitZeroBalances") == "true"
        return {
            "makerCommission": int(tier.maker * _BPS),
            "takerCommission": int(tier.taker * _BPS),
            "buyerCommission": 0,
            "sellerCommission": 0,
            "commissionRates": rates_row(tier.maker, tier.taker),
            "canTrade": True,
            "canWithdraw": False,
            "canDeposit": False,
            "brokered": False,
            "requireSelfTradePrevention": False,
            "preventSor": False,
            "updateTime": timestamp(self._exchange.clock.now()),
            "accountType": "SPOT",
            "balances": [
                {"asset": name, "free": free, "locked": locked}
                for name, (free, locked) in self.balance_rows().items()
                if not leaves_out_empty or {free, locked} != {eight_decimals(ZERO)}
            ],
            "permissions": ["SPOT"],
            "uid": 354937868,
        }

    def _commission(self, fields: Fields) -> object:
        listing = symbol_field(fields, self._listings)
        nothing = rates_row(ZERO, ZERO)
        return {
            "symbol": listing.market_id,
            "standardCommission": rates_row(listing.maker_rate, listing.taker_rate),
            "specialCommission": nothing,
            "taxCommission": nothing,
            "discount": {
                "enabledForAccount": self._exchange.pays_in_points,
                "enabledForSymbol": self._exchange.pays_in_points,
                "discountAsset": "BNB",
                "discount": eight_decimals(ZERO),
            },
        }

    def _restrictions(self, _: Fields) -> object:
        return {
            "ipRestrict": False,
            "createTime": timestamp(self._exchange.customer.opened_at),
            "enableReading": True,
            "enableSpotAndMarginTrading": True,
            "enableWithdrawals": self._exchange.may_withdraw,
            "enableInternalTransfer": False,
            "permitsUniversalTransfer": False,
            "enableMargin": False,
            "enableFutures": False,
            "enableVanillaOptions": False,
            "enablePortfolioMarginTrading": False,
        }

    def _fees(self, fields: Fields) -> object:
        listings = [symbol_field(fields, self._listings)] if "symbol" in fields else self._listings.values()
        return [
            {
                "symbol": listing.market_id,
                "makerCommission": text_of(listing.maker_rate),
                "takerCommission": text_of(listing.taker_rate),
            }
            for listing in listings
        ]

    def _deposits(self, fields: Fields) -> object:
        """Return the deposits: what the account was funded with."""
        at = timestamp(self._exchange.customer.opened_at)
        opened = self._exchange.customer.opened_at
        since, until = time_field(fields, "startTime", 0), until_field(fields, "endTime", opened)
        return [
            {
                "id": str(number),
                "amount": text_of(amount),
                "coin": name,
                "network": "",
                "status": 1,
                "address": "",
                "addressTag": "",
                "txId": f"opening deposit {number}",
                "insertTime": at,
                "completeTime": at,
                "transferType": 0,
                "confirmTimes": "1/1",
                "walletType": 0,
            }
            for number, (name, amount) in enumerate(self._exchange.customer.opening.items(), 1)
            if since <= opened <= until and fields.get("coin", name) == name
        ]

    def _details(self, fields: Fields) -> object:
        """Return terms by which nothing can be deposited or withdrawn."""
        row = {
            "minWithdrawAmount": eight_decimals(ZERO),
            "depositStatus": False,
            "withdrawFee": 0,
            "withdrawStatus": False,
        }
        return {name: row for name in self._exchange.customer.balances if fields.get("asset", name) == name}

    def _currencies(self, _: Fields) -> object:
        """Return currencies without a network to deposit from or to withdraw to."""
        return [
            {
                "coin": name,
                "name": _NAMES.get(name, name),
                "free": free,
                "locked": locked,
                "freeze": "0",
                "withdrawing": "0",
                "ipoing": "0",
                "ipoable": "0",
                "storage": "0",
                "depositAllEnable": False,
                "withdrawAllEnable": False,
                "trading": True,
                "isLegalMoney": False,
                "networkList": [],
            }
            for name, (free, locked) in self.balance_rows().items()
        ]
