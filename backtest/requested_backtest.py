"""What a person asks of a backtest, and the parameters that follow from it for one tick set."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import orjson
import pyarrow.compute as pc
from pydantic import ValidationError

from backtest.own_recordings import WORTH
from backtest.parameters import Balances, FeeTier, Latency, Parameters
from backtest.replay_profiles import FEE_RATE, ReplayProfile, profile_of
from backtest.result.quote_spacing import default_quote_age_ms, spacing_of
from backtest.simulate.settings_changes import SettingsChange, logged_settings
from exchanges.catalogue import known_transfers
from exchanges.simulated_markets import taker_fees
from market.accounting.transfer_terms import TransferTerms
from market.decide.settings import Settings
from market.instruments.cycles import CycleTerms
from market.instruments.markets import Market, crosses_of
from market.money import BPS, decimal_of, floor_to_step
from market.validation_messages import error_text
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.exchange_times import feed_delays
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.problems import nothing_to_compare
from tick_sets.sets.tick_set import TickSet, batches

AGE = "max_quote_age_ms"
LONGEST_LATENCY_MS = 60_000.0
HOLDING = Decimal("0.000001")
"""Opening amounts of an asset are cut to so many digits."""


@dataclass(frozen=True, slots=True)
class RequestedBacktest:
    """Defaults: the tick set's own settings, fees and balances, and `Latency()` everywhere."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Setting → its value, as text."""
    fee_bps: Decimal | None = None
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    """Exchange → milliseconds; `*` for all others."""
    latency_samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Exchange → recorded milliseconds to draw from; `*` for all others. A constant goes before them."""
    latency_from_feed: bool = False
    """An order takes as long as a quote of its exchange took to arrive, unless another latency is given for it."""
    fee_tiers: Mapping[str, tuple[FeeTier, ...]] = field(default_factory=dict)
    """Exchange → its fees by volume, in place of its taker fee."""
    failed_share: float = 0.0
    """The share of orders that the exchange rejects."""
    seed: int = 1
    follow_logged_settings: bool = False
    cycles: CycleTerms | None = None
    rate_limits: bool = False
    transfers: tuple[TransferTerms, ...] = field(default_factory=known_transfers)
    """What sending away from exchanges costs."""


def parameters_for(tick_set: TickSet, request: RequestedBacktest) -> Parameters:
    """Return the parameters. Raises ImportRejectedError in one sentence if a setting or exchange is unknown, or a value
    is out of bounds."""
    manifest = tick_set.manifest
    profile = profile_of(manifest)
    exchanges = tuple(dict.fromkeys(market.exchange for market in manifest.markets if not market.is_fx))
    settings = own_settings(manifest) if profile is None else _settings_of(profile, exchanges)
    logged = logged_settings(tick_set)[:1] if manifest.origin == "session" else ()
    if not logged and request.follow_logged_settings:
        raise ImportRejectedError(f"{manifest.name}: has only ticks, no settings to follow")
    if request.follow_logged_settings:
        _check_followed(logged[0], request)
    for first in logged:
        settings = first.applied(settings)
    if profile is None and manifest.origin == "import" and AGE not in request.values:
        age = default_quote_age_ms(spacing_of(tick_set), settings.max_quote_age_ms)
        settings = settings.model_copy(update={AGE: age})
    settings = changed_settings(settings, request.values)
    if request.fee_bps is not None:
        # after what is validated: live, no taker has a fee below 0
        fees = dict.fromkeys(settings.taker_fees, request.fee_bps / BPS)
        settings = settings.model_copy(update={"taker_fees": fees})
    lacking = nothing_to_compare(manifest.markets, None if logged else settings.enabled_exchanges)
    if lacking is not None and request.cycles is None:
        raise ImportRejectedError(f"{manifest.name}: {lacking}")
    balances = opening_balances(tick_set) if profile is None else _balances_of(profile, exchanges)
    if request.cycles is not None:
        balances = with_currencies(balances, manifest.markets)
    return Parameters(
        settings=settings,
        balances=balances,
        latency=latencies(exchanges, _with_feed_latency(tick_set, exchanges, request)),
        fee_tiers=fee_tiers(exchanges, request),
        failed_share=failed_share(request),
        seed=request.seed,
        follow_logged_settings=request.follow_logged_settings,
        cycles=request.cycles,
        transfers=tuple(terms for terms in request.transfers if terms.exchange in exchanges),
        rate_limits=request.rate_limits,
    )


def _check_followed(first: SettingsChange, request: RequestedBacktest) -> None:
    """Reject settings that the log overrides: what it says of them holds from its first row on, so they would
    be lost."""
    named = [name for name in request.values if name in first.changed]
    named += ["the fees"] if request.fee_bps is not None else []
    if named:
        raise ImportRejectedError(
            f"{named[0]} cannot be given if the settings of the log are followed, because they set it"
        )


def own_settings(manifest: Manifest) -> Settings:
    """Return the settings that a new session on these markets would begin with."""
    exchanges = dict.fromkeys(market.exchange for market in manifest.markets if not market.is_fx)
    known = taker_fees()
    fees = {exchange: known.get(exchange, FEE_RATE) for exchange in exchanges}
    return Settings(enabled_exchanges=tuple(fees), taker_fees=fees)


def changed_settings(settings: Settings, values: Mapping[str, str]) -> Settings:
    """Return `settings` with `values`. Raises ImportRejectedError naming what is wrong."""
    changes: dict[str, object] = {}
    for name, text in values.items():
        if name not in Settings.model_fields or name in ("version", "taker_fees"):
            raise ImportRejectedError(f"{name!r} is not a setting that a backtest can change; {_known_settings()}")
        changes[name] = _setting(name, text)
    try:
        return Settings.model_validate(settings.model_dump() | changes)
    except ValidationError as error:
        raise ImportRejectedError(error_text(error, "settings")) from None


def _setting(name: str, text: str) -> object:
    """Return the value of a setting as people write it: names with commas, a mapping as JSON. Raises
    ImportRejectedError."""
    if name in ("enabled_exchanges", "enabled_assets", "disabled_assets"):
        return tuple(filter(None, text.split(",")))
    if not text.startswith("{"):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ImportRejectedError(f'{name}: is no JSON; write it as {{"ETH": 7.5}}') from None


def latencies(exchanges: tuple[str, ...], request: RequestedBacktest) -> dict[str, Latency]:
    """Return the latency of every exchange. Raises ImportRejectedError for an exchange that the set does not have, and
    for a latency out of bounds."""
    for given in (request.latency_ms, request.latency_samples):
        unknown = sorted(set(given) - {*exchanges, "*"})
        if unknown:
            raise ImportRejectedError(f"latency of {unknown[0]!r}: the tick set has {', '.join(exchanges)}")
    every = [*request.latency_ms.values(), *(one for some in request.latency_samples.values() for one in some)]
    outside = [one for one in every if not 0 <= one <= LONGEST_LATENCY_MS]
    if outside:
        raise ImportRejectedError(f"a latency of {outside[0]:g} ms is outside 0 to {LONGEST_LATENCY_MS:,.0f}")
    return {exchange: _latency_of(exchange, request) for exchange in exchanges}


def _with_feed_latency(tick_set: TickSet, exchanges: tuple[str, ...], request: RequestedBacktest) -> RequestedBacktest:
    """Return the same with recorded delays of quotes as samples. Raises ImportRejectedError if an exchange has none."""
    if not request.latency_from_feed:
        return request
    given = {**request.latency_ms, **request.latency_samples}
    found: dict[str, list[float]] = {}
    for one in feed_delays(tick_set):
        if one.trust == "used":
            found.setdefault(one.exchange, []).extend(max(sample, 0) / 1_000 for sample in one.samples)
    lacking = [exchange for exchange in exchanges if exchange not in found.keys() | given.keys() and "*" not in given]
    if lacking:
        raise ImportRejectedError(
            f"{tick_set.manifest.name}: has no recorded latency of {lacking[0]}, whose quotes have no exchange time "
            f"before their arrival; give one, as in --latency-ms {lacking[0]}=50"
        )
    samples = {exchange: tuple(sorted(found[exchange])) for exchange in exchanges if exchange in found}
    return replace(request, latency_samples={**samples, **request.latency_samples})


def fee_tiers(exchanges: tuple[str, ...], request: RequestedBacktest) -> dict[str, tuple[FeeTier, ...]]:
    """Return the tiers. Raises ImportRejectedError for an exchange that the set does not have."""
    unknown = sorted(set(request.fee_tiers) - set(exchanges))
    if unknown:
        raise ImportRejectedError(f"fees by volume of {unknown[0]!r}: the tick set has {', '.join(exchanges)}")
    return dict(request.fee_tiers)


def failed_share(request: RequestedBacktest) -> float:
    """Return the share. Raises ImportRejectedError if it is out of bounds."""
    if not 0 <= request.failed_share <= 1:
        raise ImportRejectedError(f"{request.failed_share * 100:g} percent of orders is outside 0 to 100")
    return request.failed_share


def added_latency(parameters: Parameters, added_ms: float) -> Parameters:
    """Return the same with every order so much later at its exchange."""
    return replace(
        parameters,
        latency={
            exchange: Latency(latency.constant_ms + added_ms, tuple(sample + added_ms for sample in latency.samples_ms))
            for exchange, latency in parameters.latency.items()
        },
    )


def opening_balances(tick_set: TickSet) -> Balances:
    """Return about a million dollars of each currency and each asset, the latter at the first recorded bid. A market
    that is priced in an asset says neither."""
    markets = tick_set.manifest.markets
    crosses = crosses_of(markets, tick_set.manifest.settlement_currency)
    traded = [market for market in markets if not market.is_fx and market not in crosses]
    first = {base: _first_bids(tick_set, base) for base in dict.fromkeys(market.base for market in traded)}
    balances: Balances = {}
    for market in traded:
        cash = WORTH.get(market.quote_currency, WORTH["USD"])
        rows = balances.setdefault(market.exchange, {})
        rows[market.quote_currency] = cash
        bid = first[market.base].get((market.exchange, market.symbol))
        if bid is not None:
            rows[market.base] = floor_to_step(cash / bid, HOLDING)
    return balances


def with_currencies(balances: Balances, markets: Iterable[Market]) -> Balances:
    """Return the balances, and about a million dollars of each currency of an FX market that an exchange of them has:
    cycles trade there, while an FX rate alone needs no balance."""
    found = {exchange: dict(row) for exchange, row in balances.items()}
    for market in markets:
        if market.is_fx and market.exchange in found:
            for currency in (market.base, market.quote_currency):
                found[market.exchange].setdefault(currency, WORTH.get(currency, WORTH["USD"]))
    return found


def _settings_of(profile: ReplayProfile, exchanges: tuple[str, ...]) -> Settings:
    """Return the profile's settings without the exchanges of which no file was given."""
    fees = {exchange: profile.settings.taker_fees[exchange] for exchange in exchanges}
    return profile.settings.model_copy(update={"enabled_exchanges": exchanges, "taker_fees": fees})


def _balances_of(profile: ReplayProfile, exchanges: tuple[str, ...]) -> Balances:
    return {exchange: dict(profile.paper_balances[exchange]) for exchange in exchanges}


def _first_bids(tick_set: TickSet, base: str) -> dict[tuple[str, str], Decimal]:
    """Return (exchange, symbol) → its first bid; reads until each market of `base` has one."""
    markets = {(one.exchange, one.symbol) for one in tick_set.manifest.markets if one.base == base and not one.is_fx}
    bids: dict[tuple[str, str], Decimal] = {}
    for rows in batches(tick_set, base, ["exchange", "symbol", "bid"]):
        quoted = rows.filter(pc.field("bid") != "")
        first = quoted.group_by(["exchange", "symbol"], use_threads=False).aggregate([("bid", "first")])
        for row in first.to_pylist():
            bids.setdefault((row["exchange"], row["symbol"]), decimal_of(row["bid_first"]))
        if markets <= bids.keys():
            break
    return bids


def _latency_of(exchange: str, request: RequestedBacktest) -> Latency:
    for name in (exchange, "*"):
        if name in request.latency_ms:
            return Latency(constant_ms=request.latency_ms[name])
        if name in request.latency_samples:
            return Latency(samples_ms=request.latency_samples[name])
    return Latency()


def _known_settings() -> str:
    names = sorted(set(Settings.model_fields) - {"version", "taker_fees"})
    return f"known are {', '.join(names)}"
