"""Assumptions of a tick set, stored so that they apply to every import and can be changed later."""

from collections.abc import Iterable

from exchanges.listed_codes import listed_codes
from market.instruments.assets import Assumption
from market.instruments.contracts import contract_name
from market.money import text_of
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions, Format
from tick_sets.sets.manifest import ImportedSource, Manifest

_NO_SIDES = "has no bid and ask: they are assumed"


def alike_of(manifest: Manifest) -> tuple[Assumption, ...]:
    """Return what the set counts as what; for a set from before this was kept, what its markets show."""
    if manifest.alike:
        return manifest.alike
    found: dict[str, Assumption] = {}
    for market in manifest.markets:
        tickers = market.symbol.partition(":")[0].split("/")
        compared = (market.base, market.quote_currency)
        for ticker, asset, counts_as in zip(tickers, listed_codes().assets_of(market), compared, strict=False):
            asset_id = ticker if asset is None else asset.asset_id
            if asset is None and ticker == tickers[0] and ":" in market.symbol:
                asset_id = contract_name(ticker, market.symbol)
            if asset_id != counts_as:
                found.setdefault(asset_id, assumed_alike(asset_id, counts_as))
    return tuple(found.values())


def assumed_alike(asset_id: str, counts_as: str) -> Assumption:
    return Assumption(asset_id, counts_as, f"{asset_id} counts as {counts_as}: they are compared 1:1")


def joined(name: str, before: Iterable[Assumption], stated: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return the assets that the set `name` counts as alike, with those stated now. Raises ImportRejectedError if they
    contradict each other."""
    found = {one.asset_id: one for one in before}
    for one in stated:
        known = found.setdefault(one.asset_id, one)
        if known.counts_as != one.counts_as:
            raise ImportRejectedError(
                f"{name}: counts {one.asset_id} as {known.counts_as}, not as {one.counts_as}; to change that for all "
                f"of it say `arbitrage sets repair {name} --alike '{one.asset_id}={one.counts_as}'`"
            )
    return tuple(found.values())


def import_notes(of: Format, options: FileOptions) -> tuple[str, ...]:
    """Return what holds for all rows of one import."""
    if options.half_spread_bps is None or not {"half_spread_bps", "mapping"} & set(of.needs):
        return of.assumptions
    half = text_of(options.half_spread_bps)
    said = f"{of.name} {_NO_SIDES} {half} bps below and above each price, for the amount that was traded there"
    return (*of.assumptions, said)


def source_notes(source: ImportedSource, manifest: Manifest) -> tuple[str, ...]:
    """Return the same for a file that a set has; what an older version did not keep with it is taken from the set's
    own."""
    if source.assumptions is not None:
        return source.assumptions
    of = FORMATS.get(source.format)
    stated = (line for line in manifest.assumptions if line.startswith(f"{source.format} {_NO_SIDES}"))
    return (*(of.assumptions if of else ()), *stated)
