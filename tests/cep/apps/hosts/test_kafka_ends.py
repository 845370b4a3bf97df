"""Topics of the user's own in an app's text: what they are in both spellings, what is refused, and what the operator
has to allow."""

import pytest

from cep.apps.formats.json_format import JsonReader, JsonWriter
from cep.apps.functions.operator_terms import BrokerTerms
from cep.apps.hosts.app_outside import app_outside
from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.kafka_addresses import SESSION, kafka_brokers
from cep.apps.hosts.kafka_ends import KafkaSink, KafkaSource
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Place, ValueType
from cep.apps.language.stream_names import output_streams

SERVERS = "kafka.example.com:9092"
SIDDHI = f"""@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='orders,more', group.id='g',
    threading.option='single.thread', @map(type='json', fail.on.missing.attribute='false', enclosing.element='$.data'))
define stream Orders (symbol string, n long);
@sink(type='kafka', bootstrap.servers='{SERVERS}', topic='alarms', key='{{{{symbol}}}}', @map(type='json'))
define stream Alarms (symbol string, n long);
"""
WORKER = f"""CREATE SOURCE Orders WITH (type='kafka', bootstrap.servers='{SERVERS}', topic.list='orders, more',
    group.id='g', threading.option='single.thread', map.type='json', map.fail.on.missing.attribute='false',
    map.enclosing.element='$.data') (symbol string, n long);
CREATE SINK Alarms WITH (type='kafka', bootstrap.servers='Kafka.example.com:9092', topic='alarms',
    key='{{{{ symbol }}}}', map.type='json') (symbol string, n long);
"""
QUERY = "from Orders[n > 1] select symbol, n insert into Alarms;"
BROKER = BrokerTerms(SERVERS, "10.0.0.1:9092", ("orders", "more"), ("alarms",))


def test_both_spellings_are_the_same() -> None:
    siddhi, worker = (app_outside(parse_app(text + QUERY)) for text in (SIDDHI, WORKER))
    columns: tuple[tuple[str, ValueType], ...] = (("symbol", "string"), ("n", "long"))
    reader = JsonReader(columns, ("data",), needs_all=False)
    source = KafkaSource(Place(1, 1), "Orders", SERVERS, ("orders", "more"), reader)
    assert siddhi.kafka_sources == worker.kafka_sources == (source,)
    assert siddhi.kafka_sinks == (
        KafkaSink(Place(4, 1), "Alarms", SERVERS, "alarms", JsonWriter(), key_column="symbol"),
    )
    assert [(one.topic, one.key_column) for one in worker.kafka_sinks] == [("alarms", "symbol")]
    assert siddhi.topics == {f"kafka:{SERVERS}/orders": (source,), f"kafka:{SERVERS}/more": (source,)}


def test_what_a_source_leaves_out_has_its_default() -> None:
    text = f"@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='a') define stream S (n int);"
    (source,) = app_outside(parse_app(text)).kafka_sources
    assert source.reader == JsonReader((("n", "int"),), (), needs_all=True)


@pytest.mark.parametrize(
    ("more", "is_keyed", "sources"),
    [
        ("", False, ("ticks", f"kafka:{SERVERS}/orders", f"kafka:{SERVERS}/more")),
        ("from spreads select base insert into Bases;", True,
         ("ticks", "spreads", f"kafka:{SERVERS}/orders", f"kafka:{SERVERS}/more")),
    ],
)  # fmt: skip
def test_an_app_that_reads_a_topic_has_an_input_log(more: str, is_keyed: bool, sources: tuple[str, ...]) -> None:
    found = app_source(f"{SIDDHI} {QUERY} {more}", "a")
    assert (found.is_keyed, found.is_merged, found.sources) == (is_keyed, True, sources)
    assert output_streams(found.app)[0] == "Alarms"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("topic.list='orders,more', ", "", "it needs the option topic.list"),
        (f"bootstrap.servers='{SERVERS}', topic.list", "topic.list", "it needs the option bootstrap.servers"),
        ("topic.list='orders,more'", "topic.list='orders,'", "'' is no name of a topic"),
        ("topic.list='orders,more'", "topic.list='a/b'", "'a/b' is no name of a topic"),
        ("topic.list='orders,more'", "topic.list='..'", "'..' is no name of a topic"),
        ("topic.list='orders,more'", "topic.lists='orders'", "'topic.lists' is not known; did you mean 'topic.list'?"),
        (f"'{SERVERS}', topic.list", "'me:word@kafka:9092', topic.list", "write host:port"),
        (f"'{SERVERS}', topic.list", "'kafka:65536', topic.list", "write host:port, several with commas"),
        (f"'{SERVERS}', topic.list", "'kafka', topic.list", "write host:port, several with commas"),
        ("group.id='g'", "sasl.password='g'", "the option 'sasl.password' is not known"),
        ("type='json', fail", "type='jsonn', fail", "map type 'jsonn' is not known; did you mean 'json'?"),
        ("attribute='false'", "attribute='perhaps'", "fail.on.missing.attribute = 'perhaps': there are true and false"),
        ("'$.data'", "'$..data'", "'$..data' is no path; write $"),
        ("Orders (symbol string, n long)", "Orders (symbol object, n long)", "'symbol': a message gives string"),
        ("Orders (symbol string, n long)", "Orders (symbol decimal, n long)", "'symbol': a message gives string"),
        ("topic='alarms'", "topic='ticks'", "'ticks' is a topic of the product or of Kafka's own"),
        ("topic='alarms'", "topic='apps'", "'apps' is a topic of the product"),
        ("topic='alarms'", "topic='app-input-other-1'", "'app-input-other-1' is a topic of the product"),
        ("topic='alarms'", "topic='__consumer_offsets'", "'__consumer_offsets' is a topic of the product or of Kafka"),
        ("topic='alarms'", "topic='{{symbol}}'", "is no name of a topic"),
        ("topic='alarms'", "topic='orders'", "the app reads the topic 'orders' too, and would feed itself"),
        ("insert into Alarms", "insert into Others", "no query inserts into the stream, so nothing would be written"),
        ("key='{{symbol}}'", "key='{{price}}'", "the stream has no column 'price'"),
        ("key='{{symbol}}'", "key='a-{{symbol}}'", "write a text, or one column"),
        ("@sink(type", f"@sink(type='kafka', bootstrap.servers='{SERVERS}', topic='b') @sink(type",
         "the stream has another sink kafka too"),
        ("@source(type", f"@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='more') @source(type",
         "the stream has another source of the topic 'more'"),
    ],
)  # fmt: skip
def test_what_no_host_does_is_refused_in_one_sentence(before: str, after: str, problem: str) -> None:
    text = SIDDHI + QUERY
    assert text.count(before) == 1
    with pytest.raises(AppUnsupportedError) as error:
        app_outside(parse_app(text.replace(before, after)))
    assert problem in error.value.problem
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("broker", "problem"),
    [
        (None, f"topics of {SERVERS} are not allowed here; the operator allows them below [apps.brokers]"),
        (BrokerTerms("other:9092", "other:9092", ("orders", "more"), ("alarms",)), f"topics of {SERVERS} are not allo"),
        (BrokerTerms(SERVERS, "a:1", ("orders",), ("alarms",)), f"the topic 'more' of {SERVERS} may not be read here"),
        (BrokerTerms(SERVERS, "a:1", ("orders", "more")), f"the topic 'alarms' of {SERVERS} may not be written here"),
        (BrokerTerms(SERVERS, "a:1", ("orders", "more", "alarms")), "the topic 'alarms' of"),
        (BrokerTerms(SERVERS, SESSION, ("orders", "more"), ("alarms",)), "begin with 'app-' in the session's Kafka"),
    ],
)  # fmt: skip
def test_what_the_operator_does_not_allow_is_refused_with_its_place(broker: BrokerTerms | None, problem: str) -> None:
    outside = app_outside(parse_app(SIDDHI + QUERY))
    with pytest.raises(AppTextError) as error:
        kafka_brokers(outside, () if broker is None else (broker,))
    assert problem in error.value.problem
    assert "\n" not in str(error.value)
    assert error.value.at in (Place(1, 1), Place(4, 1))


def test_an_app_does_not_feed_itself_by_another_name_of_the_same_kafka() -> None:
    text = f"@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='a') define stream S (n int);"
    text += "@sink(type='kafka', bootstrap.servers='other:1', topic='a') define stream T (n int); from S insert into T;"
    outside = app_outside(parse_app(text))
    names = (BrokerTerms(SERVERS, "10.0.0.1:1", reads=("a",)), BrokerTerms("other:1", "10.0.0.1:1", writes=("a",)))
    with pytest.raises(AppTextError, match="would feed itself"):
        kafka_brokers(outside, names)
    assert len(kafka_brokers(outside, (names[0], BrokerTerms("other:1", "10.0.0.2:1", writes=("a",))))) == 2


@pytest.mark.parametrize("topic", ["ticks", "app-input-a-1"])
def test_topics_of_the_product_are_not_read_as_topics_of_the_user(topic: str) -> None:
    text = f"@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='{topic}') define stream S (n int);"
    with pytest.raises(AppTextError, match="streams of the product are read by their names"):
        kafka_brokers(app_outside(parse_app(text)), (BrokerTerms(SERVERS, SESSION, (topic,)),))


def test_what_the_operator_allows_is_where_he_says() -> None:
    assert kafka_brokers(app_outside(parse_app(SIDDHI + QUERY)), (BROKER,)) == {SERVERS: BROKER}
    own = BrokerTerms(SERVERS, SESSION, ("app-orders",))
    text = f"@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='app-orders') define stream S (n int);"
    assert kafka_brokers(app_outside(parse_app(text)), (own,)) == {SERVERS: own}
