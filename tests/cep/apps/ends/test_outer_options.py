"""What an app's text may say of sinks and sources at servers of others."""

import pytest

from cep.apps.ends.server_names import covers, is_server, server_name
from cep.apps.ends.sink_ends import BucketTarget, EventsTarget, HttpTarget, MongoTarget, MqttTarget, PubSubTarget
from cep.apps.ends.source_ends import BucketObjects, FolderFiles, HttpPath, MqttTopics, PubSubMessages, is_filter
from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.transports.ends import sink_of, source_of


def test_options_of_sinks_are_read() -> None:
    http = sink_of("type='http', publisher.url='https://a.example/{{place}}', on.error='store'")
    assert isinstance(http.target, HttpTarget)
    assert (http.server, http.on_error, http.target.timeout_seconds) == ("https://a.example", "store", 6.0)
    assert sink_of("type='http', publisher.url='{{place}}'").server is None
    assert sink_of("type='http', publisher.url='https://{{place}}.example/a'").server is None
    mqtt = sink_of("type='mqtt', url='ssl://B.example', topic='a/{{symbol}}', quality.of.service='2', version='5'")
    assert isinstance(mqtt.target, MqttTarget)
    assert (mqtt.server, mqtt.target.qos, mqtt.target.version) == ("mqtts://b.example:8883", 2, 5)
    mongo = sink_of("type='mongodb', uri='mongodb://d.example/shop', collection='totals', key='symbol'")
    assert mongo.target == MongoTarget("mongodb://d.example:27017", "shop", "totals", "symbol")
    bucket = sink_of("type='s3', bucket.name='exports', object.path='/a/{{place}}/', content.format='parquet'")
    assert isinstance(bucket.target, BucketTarget)
    assert (bucket.server, bucket.target.is_parquet, bucket.target.rows) == ("s3://exports", True, 1_000)
    topic = sink_of("type='googlepubsub', project.id='our-project', topic.id='orders', credential.path='key.json'")
    assert topic.target == PubSubTarget("pubsub://our-project", "orders", None)


def test_options_of_sources_are_read() -> None:
    for text in ("path='/orders/new'", "receiver.url='http://0.0.0.0:8006/orders/new'"):
        assert source_of(f"type='http', {text}").origin == HttpPath("/orders/new")
    assert source_of("type='http'").origin == HttpPath("/In")
    mqtt = source_of("type='mqtt', url='tcp://b.example:1', topic='a/+, b/#', clean.session='true'").origin
    assert mqtt == MqttTopics("mqtt://b.example:1", ("a/+", "b/#"), 1, 4, "", True)
    files = source_of("type='file', dir.uri='file:/feeds/x', file.name.pattern='.*[.]log', tailing='false'").origin
    assert files == FolderFiles(("feeds", "x"), ".*[.]log", True, False, 1.0)
    for prefix in ("public", "/public/"):
        objects = source_of(f"type='s3', bucket.name='exports', object.prefix='{prefix}'").origin
        assert isinstance(objects, BucketObjects)
        assert (objects.folder, objects.prefix) == ("public", "public/")
    one = source_of("type='file', file.uri='feeds/x/a.log'").origin
    assert one == FolderFiles(("feeds", "x"), "a\\.log", True, True, 1.0)
    named = "project.id='our-project', subscription.id='mine', topic.id='orders', credential.path='key.json'"
    assert source_of(f"type='googlepubsub', {named}").origin == PubSubMessages("pubsub://our-project", "mine")


def test_a_websocket_of_ours_has_a_path_and_the_operators_host() -> None:
    targets = [sink_of(f"type='websocket-server', {one}").target for one in ("host='a', port='8025'", "path='/b'")]
    assert targets == [EventsTarget("/Out", True), EventsTarget("/b", True)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("type='http', publisher.url='ftp://a.example'", "write http:// or https://"),
        ("type='http', publisher.url='https://a.example/{{other}}'", "the stream has no column 'other'"),
        ("type='http', publisher.url='https://a.example/../b'", "write the path without"),
        ("type='http', publisher.url='https://a.example', method='TRACE'", "there are GET, DELETE"),
        ("type='http', publisher.url='https://a.example', headers='Host:b'", "Host follows from the request itself"),
        (
            "type='websocket', url='wss://a.example', headers='Connection:b'",
            "Connection follows from the request itself",
        ),
        ("type='http', publisher.url='https://a.example', on.error='stream'", "there are wait, log and store"),
        ("type='http', publisher.url='https://a.example', basic.auth.password='x'", "is not known"),
        ("type='mqtt', url='http://b.example', topic='a'", "write mqtt:// or mqtts://"),
        ("type='mqtt', url='tcp://me:word@b.example', topic='a'", "write mqtt:// or mqtts://"),
        ("type='mqtt', url='tcp://b.example', topic='a/#'", "a topic that is written has no"),
        ("type='mqtt', url='tcp://b.example', topic='a', quality.of.service='3'", "there are 0, 1 and 2"),
        ("type='mqtt', url='tcp://b.example', topic='a', version='4'", "there are 3.1.1 and 5"),
        ("type='mongodb', uri='mongodb://me:word@d.example/shop'", "a login is the operator's"),
        ("type='mongodb', uri='mongodb://d.example/shop', key='other'", "no column of that name"),
        ("type='mongodb', uri='mongodb://d.example/shop', collection='system.users'", "write a name of letters"),
        ("type='s3', bucket.name='A'", "is no name of a bucket"),
        ("type='s3', bucket.name='exports', aws.secret.key='word'", "is not known"),
        ("type='googlepubsub', project.id='Our Project', topic.id='orders'", "is no project's id"),
        ("type='googlepubsub', project.id='our-project', topic.id='a/b'", "write 3 to 255 letters"),
        ("type='googlepubsub', project.id='our-project', topic.id='google'", "write 3 to 255 letters"),
        ("type='googlepubsub', project.id='our-project', topic.id='orders', ordering.key='{{n2}}'", "no column 'n2'"),
        ("type='websocket', url='http://a.example'", "write ws:// or wss://"),
        ("type='sse'", "needs the option path"),
        ("type='websocket-server', path='/a/../b'", "write /name"),
    ],
)
def test_sinks_that_cannot_be_are_refused_with_their_place(options: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        sink_of(options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("type='http', path='/a/../b'", "write /name"),
        ("type='http', path='a b'", "write /name"),
        ("type='mqtt', url='tcp://b.example', topic='a/#/b'", "write names with '/' between them"),
        ("type='mqtt', url='tcp://b.example', topic='$SYS/#'", "write names with '/' between them"),
        ("type='file', folder='../etc'", "write the operator's name of a folder"),
        ("type='file', folder='feeds/./x'", "write the operator's name of a folder"),
        ("type='file', folder='feeds', file.name.pattern='('", "write a regular expression of RE2"),
        ("type='file', folder='feeds', mode='regex'", "there are line, text.full and binary.full"),
        ("type='file', file.uri='a.log'", "write the operator's name of a folder before the file"),
        ("type='mongodb', uri='mongodb://d.example/shop', operation='drop'", "there are insert, update"),
        ("type='googlepubsub', project.id='our-project', topic.id='orders'", "needs the option subscription.id"),
        ("type='sse', event.source.url='ws://a.example'", "write http:// or https://"),
    ],
)
def test_sources_that_cannot_be_are_refused_with_their_place(options: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        source_of(options)


@pytest.mark.parametrize(
    ("allowed", "part", "is_covered"),
    [
        ("#", "any/thing", True),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "a/+/#", True),
        ("a/#", "ab", False),
        ("a/#", "+/b", False),
        ("a/#", "#", False),
        ("a/b", "a/b", True),
        ("a/b", "a/b/c", False),
        ("a/b", "a/+", False),
    ],
)
def test_what_an_operator_allows_covers_what_is_below(allowed: str, part: str, *, is_covered: bool) -> None:
    assert covers(allowed, part) == is_covered


@pytest.mark.parametrize(
    ("text", "found"),
    [("a", True), ("+/a/#", True), ("#", True), ("a+/b", False), ("a/#/b", False), ("", False), ("$share/g/a", False)],
)
def test_filters_of_topics(text: str, *, found: bool) -> None:
    assert is_filter(text) == found


def test_servers_have_a_scheme_and_a_port() -> None:
    assert server_name("mqtt://h", {"mqtt": 1883}) == "mqtt://h:1883"
    assert server_name("mqtt://h:99999", {"mqtt": 1883}) is None
    assert server_name("http://h", {"mqtt": 1883}) is None
    assert [is_server(one) for one in ("mqtt://h:1", "https://h", "s3://bucket", "mqtt://h", "mqtt://u@h:1")] == [
        True,
        True,
        True,
        False,
        False,
    ]
