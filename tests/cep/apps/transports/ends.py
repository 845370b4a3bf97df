"""Sinks and sources as an app's text has them."""

from cep.apps.ends.sink_ends import SentSink
from cep.apps.ends.source_ends import ReceivedSource
from cep.apps.hosts.app_outside import AppOutside, app_outside
from cep.apps.language.app_parser import parse_app

COLUMNS = "symbol string, n long, place string"


def outside_of(text: str) -> AppOutside:
    return app_outside(parse_app(text))


def sink_of(options: str, columns: str = COLUMNS, before: str = "") -> SentSink:
    """Return the sink with these options, such as `type = 'http', …`. `before`: what else the text has."""
    names = ", ".join(one.split()[0] for one in columns.split(", "))
    text = f"{before} define stream In ({columns}); @sink({options}) define stream Out ({columns}); "
    (found,) = outside_of(f"{text} from In select {names} insert into Out;").sent
    return found


def source_of(options: str, columns: str = COLUMNS) -> ReceivedSource:
    (found,) = outside_of(
        f"@source({options}) define stream In ({columns}); from In select * insert into Out;"
    ).received
    return found
