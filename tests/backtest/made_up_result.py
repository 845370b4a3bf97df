"""A made-up backtest's result to show: some trades, rejections and holes."""

from dataclasses import replace
from decimal import Decimal

from backtest.detect.batch_detection import DetectionSummary
from backtest.parameters import Latency, Parameters
from backtest.result.backtest_result import BacktestResult, LatencyCost
from backtest.result.data_quality import MarketQuality, QuoteGap
from backtest.result.quote_spacing import MarketSpacing
from backtest.result.trading_outcome import Lifetime, RejectedSum, SimulatedEquityPoint, TradingOutcome
from market.accounting.profit_groups import profit_from
from market.money import Amount, total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import SIDES
from tests.market.samples import EUR_MARKET, USD_MARKET, settings_of
from tests.store.reservation_requests import filled, leg_request, opportunity
from tick_sets.sets.manifest import ImportedSource, Manifest, Partition

START = 1_700_000_000 * MICROSECONDS
SETTINGS = settings_of(
    enabled_exchanges=("alpha", "beta"), taker_fees={"alpha": Decimal("0.001"), "beta": Decimal("0.0012")}
)
NETS = ("2.5", "-4", "1.25")


def arbitrage(number: int, net: str) -> Arbitrage:
    """Return a closed one, both legs filled whole."""
    found = replace(opportunity(f"opportunity-{number}", number), event_time=START + number * MICROSECONDS)
    legs = tuple(replace(leg_request(side, found).leg, amount=Amount(Decimal(2))) for side in SIDES)
    done = tuple(replace(leg, state="done", fills=filled(leg).fills) for leg in legs)
    profit = profit_from("USD", {"gross": Decimal(net) + 1, "fees": Decimal(-1), "net": Decimal(net)})
    ended = START + (number + 1) * MICROSECONDS
    return Arbitrage(
        found.opportunity_id, "BTC", "closed", found, done, Amount(Decimal(2)), 0, {"ended": ended}, profit=profit
    )


def manifest_of(title: str = "made up & <b>bold</b>") -> Manifest:
    return Manifest(
        name="made-up",
        title=title,
        origin="import",
        settlement_currency="USD",
        markets=(USD_MARKET, EUR_MARKET),
        sources=(ImportedSource("a.csv.gz", "tardis", "00", 990, {"crossed": 7, "no_price": 3}),),
        partitions=(Partition("2023-11-14", "BTC", 1_000, 1, START, START + 60 * MICROSECONDS),),
        quotes=990,
        assumptions=("EUR counts as it was quoted",),
    )


def outcome_of(nets: tuple[str, ...] = NETS) -> TradingOutcome:
    arbitrages = tuple(arbitrage(number, net) for number, net in enumerate(nets))
    sums = [total(Decimal(net) for net in nets[: place + 1]) for place in range(len(nets))]
    net = sums[-1] if sums else Decimal(0)
    fees = Decimal(-len(nets))
    return TradingOutcome(
        opportunities=20,
        arbitrages=arbitrages,
        rejections={
            "below_threshold": RejectedSum(12, 4, Decimal("3.5")),
            "insufficient_balance": RejectedSum(5, 2, Decimal("8.25")),
        },
        profit=profit_from("USD", {"gross": net - fees, "fees": fees, "net": net}),
        equity=tuple(
            SimulatedEquityPoint(START + place * 10 * MICROSECONDS, amount) for place, amount in enumerate(sums)
        ),
        fills=(),
        before={"alpha": {"USD": Decimal(1_000)}, "beta": {"BTC": Decimal(10)}},
        after={"alpha": {"USD": Decimal("800.5")}, "beta": {"BTC": Decimal(8)}},
        is_balanced=True,
        lifetimes=(
            Lifetime("BTC", "alpha", "beta", START, START + 250_000, 12.5),
            Lifetime("BTC", "alpha", "beta", START + MICROSECONDS, START + MICROSECONDS, 3.25),
            Lifetime("BTC", "beta", "alpha", START, START + 4_000_000, 7.0),
        ),
        net_bps_counts={-1: 2, 0: 4, 5: 10, 12: 4},
    )


def result_of(outcome: TradingOutcome | None = None) -> BacktestResult:
    return BacktestResult(
        manifest=manifest_of(),
        parameters=Parameters(
            SETTINGS,
            {"alpha": {"USD": Decimal(1_000)}, "beta": {"BTC": Decimal(10)}},
            {"alpha": Latency(50.0), "beta": Latency(samples_ms=(40.0, 60.0, 200.0))},
        ),
        detection=DetectionSummary(1_000, 21, 20, {"BTC": 20}, {("alpha", "beta"): 20}, {-1: 2, 0: 4, 5: 10, 12: 4}),
        trading=outcome_of() if outcome is None else outcome,
        seconds={"detection": 1.25, "trading": 0.5},
        versions={"python": "3.11.9", "tick_set_sha256": "ab" * 32},
        quality=(
            MarketQuality("alpha", "BTC/USD", 500, 0, START, START + 1, 1, (QuoteGap(START, START + 5_000_000),)),
            MarketQuality("beta", "BTC/EUR", 0, 0, None, None, 0, ()),
        ),
        latency_costs=(LatencyCost(0, Decimal("-0.25"), 3), LatencyCost(100, Decimal("-2.5"), 2)),
        without_depth=("beta BTC/EUR",),
        spacing=(MarketSpacing("alpha", "BTC/USD", False, False, 499, 1_500_000, 4_000_000),),
        command="arbitrage backtest made-up --seed 1",
    )
