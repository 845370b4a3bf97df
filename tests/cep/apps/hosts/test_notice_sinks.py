"""Sinks `notice`: rows as texts to people, under the operator's word for OperatorNotices."""

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.errors import AppTextError
from cep.apps.language.stream_names import output_streams
from launch.apps.acting import check_may_act
from launch.errors import CannotStartError
from session.app_actions import AppActionTerms, names_actions

TEXT = """@App:name('app')
@sink(type = 'notice', text = '{{base}} of {{exchange}} is at {{bid}}, "as said"')
define stream Told (base string, exchange string, bid double);
from quotes select base, exchange, bid insert into Told;"""
WORKER = """CREATE SINK Told WITH (type = 'notice', text = '{{base}} is there') (base string);
INSERT INTO Told SELECT base FROM quotes;"""


def test_each_row_is_a_notice_with_its_text() -> None:
    app = parse_with_product_streams(TEXT)
    assert output_streams(app) == ("Told", "OperatorNotices")
    engine, texts = StreamEngine(app), list[tuple[int, str]]()
    engine.listen("OperatorNotices", lambda at, row: texts.append((at, *row)))
    columns = [one.name for one in engine.columns_of("quotes")]
    for base, bid in (("BTC", 100.5), (None, None)):
        values = {"base": base, "exchange": "kraken", "bid": bid}
        engine.send("quotes", 7, tuple(values.get(name) for name in columns))
    assert texts == [(7, 'BTC of kraken is at 100.5, "as said"'), (7, ' of kraken is at , "as said"')]


@pytest.mark.parametrize("text", [TEXT, WORKER, TEXT.replace("'notice'", '"Notice"')])
def test_it_is_allowed_as_the_stream_of_notices_is(text: str) -> None:
    assert names_actions(text)
    source = app_source(text, "app")
    with pytest.raises(CannotStartError, match="may not act on the session; write notices = true"):
        check_may_act(source, ())
    check_may_act(source, [AppActionTerms("app", notices=True)])


def test_other_texts_do_not_act() -> None:
    assert not names_actions(TEXT.replace("'notice'", "'log'"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TEXT.replace("{{bid}}", "{{bidd}}"), "the stream has no column 'bidd'"),
        (TEXT.replace("{{bid}}", "{{bid"), "write a column as {{name}}"),
        (TEXT.replace("text = ", "texts = "), "the option 'texts' is not known; did you mean 'text'"),
        (
            TEXT.replace(""", text = '{{base}} of {{exchange}} is at {{bid}}, "as said"'""", ""),
            "it needs the option text",
        ),
    ],
)
def test_what_is_none_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(AppTextError) as found:
        app_source(text, "app")
    assert problem in str(found.value)
    assert found.value.at.line == 2
