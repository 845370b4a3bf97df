"""Binance's signed endpoints for the account: balances, fees, rights."""

from market.money import ZERO, text_of
from simulators.binance.endpoints import Endpoint, Fields, eight_decimals, symbol_field, timestamp
from simulators.binance.rows import rates_row
from simulators.matching.simulated_exchange import SimulatedExchange

_BPS = 10_000


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
            "canWithdraw": True,
            "canDeposit": True,
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
            "enableWithdrawals": self._exchange.funding.may_withdraw,
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
