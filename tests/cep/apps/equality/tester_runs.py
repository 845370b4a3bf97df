"""A log as a case of the tester (`arbitrage app test`), with the rows that hosts give of it as what is expected."""

from decimal import Decimal
from typing import Any

from cep.apps.engine.app_cases import AppCase, ExpectedRows, differences
from cep.apps.hosts.log_rows import LogRows
from cep.apps.hosts.product_streams import parse_with_product_streams, read_streams
from cep.apps.language.stream_names import output_streams
from market.money import text_of
from streams.message_format import row_of
from tests.cep.apps.equality.app_logs import PARTITIONS
from tests.cep.apps.equality.host_runs import Logged


def differences_of_tester(one: Logged) -> list[str]:
    """Return what the tester says of the rows of the log, partition by partition."""
    return [difference for number in range(PARTITIONS) for difference in _tested(one, number)]


def _tested(one: Logged, partition: int) -> list[str]:
    source, events = one.source, list[Any]()
    rows = LogRows(source.topic, read_streams(source.app), is_merged=source.is_merged, unrepeated=None)
    for record in one.mine:
        if record.partition == partition:
            try:
                _topic, at, values = rows.read(row_of(record.value), record.time)
            except (ValueError, TypeError, AttributeError, KeyError):
                # none of the log's
                continue
            events += [(at,), *((None, stream, list(row)) for stream, row in values)]
    mine = [out for out in one.rows if int(out.id.split(":")[1]) == partition]
    expected = [(out.stream, out.time, False, [_in_json(value) for value in out.values.values()]) for out in mine]
    case = AppCase(
        id=f"{source.name} {partition}",
        events=events,
        expected=ExpectedRows(out=expected),
        outputs=list(output_streams(source.app)),
        variables=dict(source.variables),
    )
    return differences(case, source.text, parse_with_product_streams, source.terms) if events else []


def _in_json(value: Any) -> Any:
    return text_of(value) if isinstance(value, Decimal) else value
