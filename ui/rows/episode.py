"""The rows of episodes of opportunities. Money as decimal strings, times in microseconds UTC."""

from typing_extensions import TypedDict

from market.decide.settings import Settings
from market.decide.trade_bounds import settings_bounds
from market.prices.episodes import Episode, EpisodeOutcome, tradable_profit
from ui.live.episodes import LiveEpisode
from ui.rows.attribute import row_from


class EpisodeRow(TypedDict):
    """A run of sightings from the first (`start`) to the last (`end`); a sighting up to `until` still belongs to it. Of
    the `seen` sightings it has the widest spread, and the most that one trade within the limits would have earned
    (`best_profit`).

    `outcome`: taken (an arbitrage was traded on one of them), rejected (`reason`: that of the best one), expired
    (nobody had decided on the best one in time), undecided. `missed_profit`: 0 if it was taken.
    """

    base: str
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    start: int
    end: int
    until: int
    seen: int
    best_net_bps: float
    best_profit: str
    missed_profit: str
    currency: str
    outcome: EpisodeOutcome
    reason: str | None
    first_opportunity_id: str
    best_opportunity_id: str


class LiveEpisodeRow(TypedDict):
    """An episode as far as the stream has it; prices, amounts and `net_bps` of its newest opportunity. `best_profit`:
    of as much as one trade may use within the limits in force."""

    base: str
    buy_exchange: str
    buy_symbol: str
    buy_price: str
    buy_amount: str
    sell_exchange: str
    sell_symbol: str
    sell_price: str
    sell_amount: str
    start: int
    end: int
    until: int
    seen: int
    net_bps: float
    best_net_bps: float
    best_profit: str
    currency: str


class EpisodeCountsRow(TypedDict):
    """Episodes, each counted once, by outcome; `sightings`: how often they were seen, all together."""

    seen: int
    sightings: int
    taken: int
    rejected: int
    expired: int
    undecided: int


def episode_row(episode: Episode, currency: str) -> EpisodeRow:
    """Return the row; `currency`: the settlement currency."""
    base, buy_exchange, buy_symbol, sell_exchange, sell_symbol = episode.pair
    return row_from(
        EpisodeRow,
        episode,
        base=base,
        buy_exchange=buy_exchange,
        buy_symbol=buy_symbol,
        sell_exchange=sell_exchange,
        sell_symbol=sell_symbol,
        seen=episode.samples,
        best_profit=episode.profit,
        missed_profit=episode.missed,
        currency=currency,
        reason=None if episode.is_taken else episode.reason,
        first_opportunity_id=episode.first_id,
        best_opportunity_id=episode.best_id,
    )


def live_episode_row(shown: LiveEpisode, settings: Settings | None) -> LiveEpisodeRow:
    """Return the row; the limits of `settings`, those in force, bound what is tradable."""
    episode, buy, sell = shown.episode, shown.newest.buy, shown.newest.sell
    return row_from(
        LiveEpisodeRow,
        episode,
        base=shown.newest.base,
        buy_exchange=buy.exchange,
        buy_symbol=buy.symbol,
        buy_price=buy.price,
        buy_amount=buy.amount,
        sell_exchange=sell.exchange,
        sell_symbol=sell.symbol,
        sell_price=sell.price,
        sell_amount=sell.amount,
        seen=episode.samples,
        net_bps=shown.newest.net_bps,
        best_profit=tradable_profit(shown.best, settings_bounds(shown.best, settings)),
        currency=shown.newest.currency,
    )
