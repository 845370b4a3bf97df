"""Coinbase's private endpoints for the account: balances, fees, its portfolio, and what the key may do."""

from market.money import text_of
from simulators.coinbase.endpoints import PREFIX, CoinbaseEndpoint, Fields, Row
from simulators.coinbase.rows import FIAT, PORTFOLIO_ID, account_row
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import count_field, known

_A_PAGE, _MOST = 49, 250


class CoinbaseAccount:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def endpoints(self) -> list[CoinbaseEndpoint]:
        of_fees = known("product_type", "contract_expiry_type", "product_venue")
        return [
            CoinbaseEndpoint("GET", f"{PREFIX}/accounts", self._accounts, known("limit", "cursor")),
            CoinbaseEndpoint("GET", f"{PREFIX}/accounts/{{account_uuid}}", self._account),
            CoinbaseEndpoint("GET", f"{PREFIX}/transaction_summary", self._fees, of_fees),
            CoinbaseEndpoint("GET", f"{PREFIX}/portfolios", self._portfolios, known("portfolio_type")),
            CoinbaseEndpoint("GET", f"{PREFIX}/key_permissions", self._rights),
            CoinbaseEndpoint("GET", "/v2/accounts", self._wallets, known("limit")),
        ]

    def _rows(self) -> list[Row]:
        customer = self._exchange.customer
        held = customer.held()
        return [account_row(name, total, held[name], customer.opened_at) for name, total in customer.balances.items()]

    def _accounts(self, fields: Fields) -> Row:
        first, limit = count_field(fields, "cursor", 0), min(count_field(fields, "limit", _A_PAGE) or _A_PAGE, _MOST)
        rows = self._rows()
        page, following = rows[first : first + limit], first + limit
        has_next = following < len(rows)
        return {"accounts": page, "has_next": has_next, "cursor": str(following) if has_next else "", "size": len(page)}

    def _wallets(self, _: Fields) -> Row:
        """Return the accounts as the older interface has them, on one page: it knows no holds."""
        totals = self._exchange.customer.balances
        return {
            "pagination": {"limit": len(totals), "order": "desc", "next_starting_after": None},
            "data": [
                {
                    "id": row["uuid"],
                    "name": row["name"],
                    "primary": True,
                    "type": "fiat" if name in FIAT else "wallet",
                    "currency": {"code": row["currency"], "type": "fiat" if name in FIAT else "crypto"},
                    "balance": {"amount": text_of(total), "currency": row["currency"]},
                    "created_at": row["created_at"],
                }
                for (name, total), row in zip(totals.items(), self._rows(), strict=True)
            ],
        }

    def _account(self, fields: Fields) -> Row:
        for row in self._rows():
            if row["uuid"] == fields["account_uuid"]:
                return {"account": row}
        raise RequestRejectedError("misused", "account not found")

    def _fees(self, _: Fields) -> Row:
        exchange = self._exchange
        tier, volume = exchange.tier, float(exchange.volume_30d)
        rates = {"taker_fee_rate": text_of(tier.taker), "maker_fee_rate": text_of(tier.maker)}
        bounds = {"usd_from": text_of(tier.volume), "usd_to": "", "aop_from": "", "aop_to": ""}
        return {
            "total_volume": volume,
            "total_fees": 0,
            "fee_tier": {"pricing_tier": "Simulated", **bounds, **rates},
            **{"margin_rate": None, "goods_and_services_tax": None},
            **{"advanced_trade_only_volume": volume, "advanced_trade_only_fees": 0},
            **{"coinbase_pro_volume": 0, "coinbase_pro_fees": 0, "total_balance": "", "has_promo_fee": False},
        }

    def _portfolios(self, _: Fields) -> Row:
        return {"portfolios": [{"name": "Default", "uuid": PORTFOLIO_ID, "type": "DEFAULT", "deleted": False}]}

    def _rights(self, _: Fields) -> Row:
        rights = {"can_view": True, "can_trade": True, "can_transfer": self._exchange.funding.may_withdraw}
        return {**rights, "portfolio_uuid": PORTFOLIO_ID, "portfolio_type": "DEFAULT"}
