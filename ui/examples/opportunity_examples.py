"""Example responses about quotes, spreads and opportunities, for the OpenAPI document."""

from market.instruments.orders import Side
from ui.rows.episode import EpisodeRow
from ui.rows.market import OpportunityRow, QuoteRow, SpreadRow
from ui.rows.opportunity import CycleLegRow, CycleOpportunityRow, LifeRow, StatisticsRow, StoredOpportunityRow
from ui.services.opportunity_lifetimes import DEFINITION
from ui.services.threshold_preview import LIMITS, PreviewRow

QUOTES = [
    QuoteRow(
        exchange="kraken",
        region="us",
        symbol="BTC/USD",
        base="BTC",
        quote_currency="USD",
        bid="70000.1",
        bid_amount="0.8",
        ask="70001.5",
        ask_amount="0.42",
        mid="70000.8",
        mean_mid=70000.6,
        received_time=1_700_000_000_000_000,
        verified_time=1_700_000_000_900_000,
        status="fresh",
    )
]
SPREADS = [
    SpreadRow(
        base="BTC",
        buy_exchange="kraken",
        buy_symbol="BTC/USD",
        sell_exchange="bitflyer",
        sell_symbol="BTC/JPY",
        gross_bps=38.2,
        fee_bps=24.9,
        net_bps=13.3,
        is_fresh=True,
        windows=[
            {
                "seconds": 10,
                "end": 1_700_000_000_000_000,
                "mean_bps": 11.4,
                "deviation": 2.2,
                "max_bps": 15.8,
                "share_above": 0.97,
                "rows": 212,
            }
        ],
    )
]
SEEN = OpportunityRow(
    opportunity_id="5f0c2b7e9a41d3c6",
    base="BTC",
    buy_exchange="kraken",
    buy_symbol="BTC/USD",
    buy_price="70001.5",
    buy_amount="0.42",
    sell_exchange="bitflyer",
    sell_symbol="BTC/JPY",
    sell_price="10560000",
    sell_amount="0.3",
    gross_bps=38.2,
    fee_bps=24.9,
    net_bps=13.3,
    expected_profit=27.93,
    tradable_profit="1.32856692",
    currency="USD",
    settings_version=1,
    event_time=1_700_000_000_000_000,
    detected_time=1_700_000_000_012_000,
    expires_at=1_700_000_001_000_000,
)


def _leg(side: Side, symbol: str, price: str) -> CycleLegRow:
    quote_id = f"kraken:{symbol}:1700000000000000"
    return CycleLegRow(
        side=side, exchange="kraken", symbol=symbol, price=price, amount="0.42", quote_id=quote_id, age=40_000
    )


CYCLES = [
    CycleOpportunityRow(
        opportunity_id="9b1f6d20c7e84a35",
        cycle_id="kraken:BTC/USD:buy>kraken:ETH/BTC:buy>kraken:ETH/USD:sell",
        legs=[_leg("buy", "BTC/USD", "70001.5"), _leg("buy", "ETH/BTC", "0.05"), _leg("sell", "ETH/USD", "3551.2")],
        net_bps=6.4,
        settings_version=1,
        event_time=1_700_000_000_000_000,
        detected_time=1_700_000_000_012_000,
        expires_at=1_700_000_001_000_000,
    )
]
KEPT = StoredOpportunityRow(
    **SEEN,
    outcome="taken",
    reason=None,
    arbitrage_state="closed",
    net_profit="1.1",
)
EPISODE = EpisodeRow(
    base="BTC",
    buy_exchange="kraken",
    buy_symbol="BTC/USD",
    sell_exchange="bitflyer",
    sell_symbol="BTC/JPY",
    start=1_700_000_000_000_000,
    end=1_700_000_001_850_000,
    until=1_700_000_003_850_000,
    seen=212,
    best_net_bps=15.8,
    best_profit="1.5214",
    missed_profit="1.5214",
    currency="USD",
    outcome="rejected",
    reason="pair_busy",
    first_opportunity_id="5f0c2b7e9a41d3c6",
    best_opportunity_id="0b77c9e1d2f34a58",
)
EPISODE_PAGE = {"items": [EPISODE], "next_cursor": "WzE3MDAwMDAwMDAwMDAwMDAsIjVmMGMyYjdlIl0="}
NEWEST = [SEEN]
KEPT_PAGE = {"items": [KEPT], "next_cursor": "WzE3MDAwMDAwMDAwMDAwMDAsIjVmMGMyYjdlIl0="}
LIFE = LifeRow(runs=412, once=96, p50_ms=48.0, p90_ms=640.0, p99_ms=2_310.0, longest_ms=4_020.0)
STATISTICS = StatisticsRow(
    span="10m",
    seen_since=1_699_999_400_000_000,
    until=1_700_000_000_000_000,
    min_net_bps=5.0,
    emit_net_bps=0.0,
    currency="USD",
    seen=12_331,
    taken=52,
    rejected=5_978,
    expired=6_301,
    taken_expected="64.1",
    taken_net="58.3",
    rejected_expected="181.4",
    missed_episodes=127,
    episodes={"seen": 171, "sightings": 12_331, "taken": 44, "rejected": 121, "expired": 6, "undecided": 0},
    histogram=[{"from_bps": 5.0, "to_bps": 6.0, "seen": 310, "taken": 4, "rejected": 181}],
    ledger=[{"reason": "pair_busy", "count": 2_273, "episodes": 61, "missed_profit": "92.16"}],
    lifetimes={
        "definition": DEFINITION,
        "alive": 3,
        "all": LIFE,
        "histogram": [{"from_ms": 20.0, "to_ms": 50.0, "runs": 120}],
        "pairs": [
            {
                **LIFE,
                "base": "BTC",
                "buy_exchange": "kraken",
                "buy_symbol": "BTC/USD",
                "sell_exchange": "bitflyer",
                "sell_symbol": "BTC/JPY",
                "best_bps": 41.2,
            }
        ],
    },
)
PREVIEW = PreviewRow(
    min_net_bps=3.0,
    hours=1.0,
    current_min_net_bps=5.0,
    emit_net_bps=0.0,
    currency="USD",
    taken={"count": 52, "expected": "64.1", "net": "58.3"},
    kept={"count": 52, "expected": "64.1", "net": "58.3"},
    lost={"count": 0, "expected": "0", "net": "0"},
    gained={"count": 840, "expected": "17.4"},
    gained_once_a_second={"count": 130, "expected": "17.4"},
    gained_episodes={"count": 22, "expected": "17.4"},
    still_rejected=[{"reason": "pair_busy", "count": 2_273, "episodes": 61, "missed_profit": "92.16"}],
    curve=[{"min_net_bps": 3.0, "kept": 52, "kept_expected": 64.1, "gained": 130, "gained_expected": 17.4}],
    limits=list(LIMITS),
)
