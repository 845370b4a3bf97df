"""Apps that would feed each other without end are found by the topics that they write and read."""

import pytest

from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms
from cep.apps.hosts.hosted_app import AppSource
from launch.published.rings import ring_of

TERMS = OperatorTerms(
    brokers=(
        BrokerTerms("here:9092", "session"),
        # the same Kafka under another name, and another one with a topic of the same name
        BrokerTerms("local:9092", "session"),
        BrokerTerms("far:9092", "far.example.com:9092"),
    )
)
MAP = "@map(type = 'json')"


def app(name: str, reads: str, writes: str, servers: tuple[str, str] = ("here:9092", "here:9092")) -> AppSource:
    read, written = servers
    text = f"""
    @source(type = 'kafka', topic.list = '{reads}', bootstrap.servers = '{read}', group.id = 'g', {MAP})
    define stream In (text string);
    @sink(type = 'kafka', topic = '{writes}', bootstrap.servers = '{written}', {MAP}) define stream Out (text string);
    from In select text insert into Out;
    """
    return AppSource(name, text, terms=TERMS)


@pytest.mark.parametrize(
    ("apps", "ring"),
    [
        ((app("a", "app-1", "app-2"),), ()),
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-3")), ()),
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-1")), ("b",)),
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-3"), app("c", "app-3", "app-1")), ("b", "c")),
        ((app("a", "app-1,app-4", "app-2"), app("b", "app-2", "app-4")), ("b",)),
        # others feed each other, and this one is no part of it
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-3"), app("c", "app-3", "app-2")), ()),
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-1", ("local:9092", "local:9092"))), ("b",)),
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-1", ("here:9092", "far:9092"))), ()),
        # of servers that the operator does not name nothing is read
        ((app("a", "app-1", "app-2"), app("b", "app-2", "app-1", ("no:9092", "no:9092"))), ()),
    ],
)
def test_a_ring_is_named_by_the_apps_on_the_way(apps: tuple[AppSource, ...], ring: tuple[str, ...]) -> None:
    first, *others = apps
    assert ring_of(first.file_name, first, {one.file_name: one for one in others}) == ring
