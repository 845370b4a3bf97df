"""Apps that would feed each other without end: by way of Kafka topics that one writes and another reads. Pure."""

from collections.abc import Iterator, Mapping

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.kafka_ends import KafkaSink, KafkaSource

Topics = frozenset[tuple[str, str]]
"""Each with the address of its Kafka: one Kafka may have several names in a text."""


def ring_of(name: str, source: AppSource, others: Mapping[str, AppSource]) -> tuple[str, ...]:
    """Return the apps by way of which the app's rows would come back to it, in their order; empty if by none. `others`:
    those that run beside it, by name."""
    apps = {**others, name: source}
    reads = {one: _topics(app, app.outside.kafka_sources) for one, app in apps.items()}
    before: dict[str, str] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop(0)
        written = _topics(apps[one], apps[one].outside.kafka_sinks)
        for other, read in reads.items():
            if other in before or not written & read:
                continue
            before[other] = one
            if other == name:
                return tuple(_way(name, before))[::-1]
            waiting.append(other)
    return ()


def _topics(app: AppSource, ends: tuple[KafkaSink, ...] | tuple[KafkaSource, ...]) -> Topics:
    """Return those whose address the operator names; of others nothing is read or written."""
    addresses = {one.servers: one.address for one in app.terms.brokers}
    return frozenset(
        (addresses[end.servers], topic) for end in ends for topic in end.topics if end.servers in addresses
    )


def _way(name: str, before: Mapping[str, str]) -> Iterator[str]:
    """Yield the apps on the way back, without the app itself."""
    one = before[name]
    while one != name:
        yield one
        one = before[one]
