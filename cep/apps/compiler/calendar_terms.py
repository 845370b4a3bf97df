"""What an aggregation's text says of its calendar: which buckets it has, how long they are kept, in which zone.

`@purge(enable = 'true', interval = '15 min', @retentionPeriod(sec = '120 sec', min = '24 hours', hours = '30 days',
days = '1 year', months = 'all', years = 'all'))` and its defaults are Siddhi's
(https://siddhi.io/en/v5.1/docs/query-guide/). Siddhi has the zone in the server's configuration, as `aggTimeZone`.
"""

from collections.abc import Mapping

from cep.apps.language.app_ends import aggregation_options
from cep.apps.language.app_parser import parse_expression
from cep.apps.language.app_tree import AggregationDefinition
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Duration, Place
from cep.apps.parts.aggregations import PURGE, CalendarTerms
from cep.apps.parts.calendar import duration_named, zone_named, zone_names
from cep.apps.parts.scope import with_nearest

RETENTION = "purge.retentionperiod."
ZONE = "aggtimezone"
KNOWN = ("store.", "purge.enable", "purge.interval", RETENTION, ZONE)
WITHOUT_MEANING = ("info", "index", "primarykey", "partitionbyid")
"""Annotations that are read, as in Siddhi, and mean nothing: how a database keeps buckets, and who computes them."""


def calendar_terms(definition: AggregationDefinition) -> CalendarTerms:
    """Raise AppTextError, AppUnsupportedError."""
    options, places = aggregation_options(definition), _places(definition)
    for key in options:
        if not key.startswith(KNOWN) and key.partition(".")[0] not in WITHOUT_MEANING:
            raise AppUnsupportedError(places.get(key.partition(".")[0], definition.at), _unknown(key))
    at = places.get("purge", definition.at)
    retention = dict(
        _retention(at, key.removeprefix(RETENTION), value, definition.durations)
        for key, value in options.items()
        if key.startswith(RETENTION)
    )
    zone = options.get(ZONE)
    try:
        found = None if zone is None else zone_named(zone)
    except ValueError as error:
        near = with_nearest(str(error), zone or "", list(zone_names()))
        raise AppTextError(places.get(ZONE, definition.at), near) from None
    return CalendarTerms(definition.durations, retention, _purge(at, options), found)


def _places(definition: AggregationDefinition) -> dict[str, Place]:
    return {one.name.lower(): one.at for one in definition.annotations}


def _unknown(key: str) -> str:
    return (
        f"an aggregation has no {key!r}: there are store.type, store.collection, purge.enable, purge.interval, "
        "purge.retentionPeriod.sec (min, hours, days, …) and aggTimeZone"
    )


def _purge(at: Place, options: Mapping[str, str]) -> int | None:
    enable = options.get("purge.enable", "true").lower()
    if enable not in ("true", "false"):
        raise AppTextError(at, f"@purge takes enable = 'true' or 'false', not {enable!r}")
    if enable == "false":
        return None
    interval = options.get("purge.interval")
    return PURGE if interval is None else _time(at, "interval", interval)


def _retention(at: Place, name: str, value: str, durations: tuple[str, ...]) -> tuple[str, int | None]:
    duration = duration_named(name)
    if duration is None or duration not in durations:
        raise AppTextError(at, f"@retentionPeriod({name} = …): the aggregation has {', '.join(durations)}")
    return duration, None if value.lower() == "all" else _time(at, name, value)


def _time(at: Place, name: str, value: str) -> int:
    try:
        node = parse_expression(value)
    except AppTextError:
        node = None
    if not isinstance(node, Duration) or node.milliseconds <= 0:
        raise AppTextError(at, f"@purge takes {name} = '10 sec', or another time above 0")
    return node.milliseconds
