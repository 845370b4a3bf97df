"""Sinks and sources of an app: what they are in both spellings, and what is refused, with its place."""

import pytest

from cep.apps.formats.json_format import JsonReader, JsonWriter
from cep.apps.hosts.app_outside import AppOutside, CallSink, LogSink, NamedSink, app_outside
from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppUnsupportedError
from cep.apps.language.expression_tree import Place
from cep.apps.language.stream_names import output_streams

URL = "https://api.example.com/v1/price?of=btc"
TABLE = "@store(type='mongodb', collection='one') define table One (p double);"
SIDDHI = f"""@sink(type='http-call', publisher.url='{URL}', method='get', sink.id='p', @map(type='json'),
      headers="'User-Agent:me', 'X-A: b:c'") define stream Asked (at long);
@source(type='http-call-response', sink.id='p', http.status.code='200', @map(type='json', enclosing.element='$.data'))
define stream Price (price double);
@sink(type='log', prefix='!') define stream Told (price double);
@sink(type='c8streams', stream='Shared', @map(type='json'), replication.type='global') define stream Shared (p double);
"""
WORKER = f"""CREATE SINK Asked WITH (type='http-call', publisher.url='{URL}', method='get', sink.id='p',
      map.type='json', headers="'User-Agent:me', 'X-A: b:c'") (at long);
CREATE SOURCE Price WITH (type='http-call-response', sink.id='p', http.status.code='200', map.type='json',
      map.enclosing.element='$.data') (price double);
CREATE SINK Told WITH (type='log', prefix='!') (price double);
CREATE SINK STREAM GLOBAL Shared (p double);
"""


def test_both_spellings_are_the_same() -> None:
    siddhi, worker = (app_outside(parse_app(text)) for text in (SIDDHI, WORKER))
    assert siddhi.logs == worker.logs == (LogSink("Told", "!"),)
    assert siddhi.named == worker.named == (NamedSink("Shared"),)
    assert siddhi.responses == worker.responses
    assert siddhi.responses[0].reader == JsonReader((("price", "double"),), ("data",), needs_all=False)
    headers = (("User-Agent", "me"), ("X-A", "b:c"))
    assert siddhi.calls == (CallSink(Place(1, 1), "Asked", "p", URL, "GET", headers, 6.0, False, 4, JsonWriter()),)
    assert worker.calls == siddhi.calls
    assert (siddhi.calls[0].origin, siddhi.calls[0].path) == ("https://api.example.com", "/v1/price?of=btc")


@pytest.mark.parametrize(
    ("action", "options", "retries", "of_errors"),
    [
        ("", "", False, ()),
        ("", ", on.error='wait'", True, ()),
        ("wait", "", True, ()),
        ("wait", ", on.error='log'", False, ()),
        ("stream", "", False, ("at",)),
        ("stream", ", on.error='wait'", True, ()),
        ("stream", ", on.error='stream'", False, ("at",)),
        ("log", ", on.error='LOG'", False, ()),
    ],
)
def test_what_becomes_of_a_request_without_an_answer_is_said_by_the_sink_or_by_its_stream(
    action: str, options: str, retries: bool, of_errors: tuple[str, ...]
) -> None:
    of_stream = f"@OnError(action='{action}') " if action else ""
    siddhi = f"@sink(type='http-call', publisher.url='{URL}'{options}) {of_stream}define stream Asked (at long);"
    property_ = f", OnError.action='{action}'" if action else ""
    worker = f"CREATE SINK Asked WITH (type='http-call', publisher.url='{URL}'{options}{property_}) (at long);"
    for text in (siddhi, worker):
        (call,) = app_outside(parse_app(text)).calls
        assert (call.retries, call.of_errors) == (retries, of_errors)


def test_an_app_without_any_has_none() -> None:
    assert app_outside(parse_app("from quotes select bid insert into Out;")) == AppOutside()


def test_a_sink_that_the_app_reads_too_gives_its_rows_all_the_same() -> None:
    text = f"{WORKER} from quotes select bid as price insert into Told; from Told select price as p insert into Shared;"
    assert output_streams(parse_app(f"{text} from Shared select p insert into Last;")) == ("Told", "Shared", "Last")


@pytest.mark.parametrize(
    ("text", "sources", "is_merged", "is_keyed"),
    [
        ("from quotes select bid as price insert into Told;", ("ticks", "calls"), True, True),
        ("define trigger T at every 1 sec; from T select triggered_time as at insert into Asked;",
         ("ticks", "calls"), True, False),
    ],
)  # fmt: skip
def test_an_app_with_requests_has_an_input_log(
    text: str, sources: tuple[str, ...], is_merged: bool, is_keyed: bool
) -> None:
    found = app_source(f"{SIDDHI} {text}", "a")
    assert (found.sources, found.is_merged, found.is_keyed) == (sources, is_merged, is_keyed)


def test_an_app_of_triggers_alone_reads_the_clock() -> None:
    text = "define trigger T at every 1 sec; @sink(type='log') define stream Told (at long); "
    found = AppSource("a", f"{text} from T select triggered_time as at insert into Told;")
    assert (found.sources, found.is_merged, found.is_keyed) == (("ticks",), False, False)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (f"publisher.url='{URL}', ", "", "it needs the option publisher.url"),
        (URL, "ftp://example.com/x", "write http:// or https://"),
        (URL, "https://me:secret@example.com/x", "write http:// or https://"),
        (URL, "https://example.com/{{path}}", "write http:// or https://"),
        (URL, "https://example.com/a b", "write http:// or https://"),
        (URL, "https://example.com/../admin", "write the path without . and .."),
        (URL, "https://example.com/a/%2E%2e", "write the path without . and .."),
        (URL, "https://example.com/a/..?b", "write the path without . and .."),
        (URL, "https://example.com/a/..%2fb", "write the path without . and .."),
        (URL, "https://example.com/a%2F..%2Fb", "write the path without . and .."),
        (URL, "https://example.com/a%5c..%5Cb", "write the path without . and .."),
        (URL, "https://example.com/a\\..\\b", "write the path without . and .."),
        (URL, "https://example.com/..;/b", "write the path without . and .."),
        (URL, "https://example.com/%252e%252e/b", "write the path without . and .."),
        ("method='get'", "method='trace'", "method = 'TRACE': there are GET, DELETE, POST, PUT, PATCH"),
        ("sink.id='p', @map(type='json'),", "sink.ids='p', @map(type='json'),", "option 'sink.ids' is not known; did"),
        ("@map(type='json'),\n", "@map(type='xmll'),\n", "map type 'xmll' is not known; did you mean 'xml'?"),
        ("'User-Agent:me'", "'User-Agent'", "write 'Name:value'"),
        ("'User-Agent:me'", "'Host:other'", "Host follows from the request"),
        ("'User-Agent:me',", "X:1,", "headers: write 'Name:value', each in single quotes, and not 'X:1'"),
        ("method='get'", "method='get', socket.idle.timeout='0'", "a whole number from 1 to 60000"),
        ("method='get'", "method='get', on.error='keep'", "on.error = 'keep': there are log, wait, stream and store"),
        ("method='get'", "method='get', on.error='stream'", "add @OnError(action = 'stream')"),
        ("define stream Asked (at long)", "@OnError(action='stream') define stream Asked (at long, o object)",
         "'o': a stream of errors of requests has string"),
        ("code='200'", "code='(2+)+x'", "write three digits, such as 200 or 5.."),
        ("code='200'", "code='[9-0]..'", "write three digits, such as 200 or 5.."),
        ("code='200'", "code='[5-]..'", "write three digits, such as 200 or 5.."),
        ("'$.data'", "'$..data[?(@.x)]'", "is no path; write $, $.name"),
        ("define stream Price (price double)", "define stream Price (price object)", "'price': a message gives"),
        ("sink.id='p', http.status", "sink.id='q', http.status", "no sink http-call has the sink.id 'q'"),
        ("type='log', prefix='!'", f"type='http-call', publisher.url='{URL}', sink.id='p'", "another sink has"),
        ("type='log', prefix='!'", "type='nats', topic='x'", "no host runs the sink nats of Told yet"),
        ("stream='Shared'", "stream='Other'", "give both one name"),
        ("@sink(type='log', prefix='!')", "@store(type='mongodb')", "store mongodb of Told: a store belongs to a"),
        ("prefix='!') define stream", "prefix='!') define table", "the sink log of Told: a store belongs to a table"),
        ("stream Told (price double)", "window Told (price double) length(5)",
         "@sink of Told: only streams, tables and aggregations have one"),
        ("@sink(type='log', prefix='!')", "@sink(type='http-call', publisher.url='http://b/c')"
         "@sink(type='http-call', publisher.url='http://b/d', sink.id='q')", "has another sink http-call too"),
        (TABLE, f"{TABLE} @store(type='mongodb', collection='one') define table Two (p double);",
         "the store mongodb of One: another table is kept as 'one' too"),
        (TABLE, f"@store(type='mongodb', collection='two') {TABLE}", "the table has another store too; keep it in one"),
    ],
)  # fmt: skip
def test_what_no_host_does_is_refused_in_one_sentence(before: str, after: str, problem: str) -> None:
    text = SIDDHI + TABLE
    assert text.count(before) == 1
    with pytest.raises(AppUnsupportedError) as error:
        app_outside(parse_app(text.replace(before, after)))
    assert problem in error.value.problem
    assert "\n" not in str(error.value)


def test_secrets_of_a_query_and_sets_of_a_status_are_taken() -> None:
    text = SIDDHI.replace(URL, f"{URL}&key=%2f%2e").replace("code='200'", r"code='[2-35]\d.'")
    outside = app_outside(parse_app(text))
    assert outside.calls[0].path == "/v1/price?of=btc&key=%2f%2e"
    assert outside.responses[0].status == r"[2-35]\d."
