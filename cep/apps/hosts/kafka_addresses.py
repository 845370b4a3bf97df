"""Which topics of the user's own an app may read and write, and where they are: the operator says so. Pure."""

from collections.abc import Iterable, Mapping

from cep.apps.functions.operator_terms import BrokerTerms
from cep.apps.hosts.app_outside import AppOutside
from cep.apps.hosts.kafka_ends import KafkaSink, KafkaSource
from cep.apps.language.errors import AppTextError
from streams.topics import APP_INPUT, APP_TOPICS

SESSION = "session"
"""The address that stands for the Kafka of the running session."""


def kafka_brokers(outside: AppOutside, brokers: Iterable[BrokerTerms]) -> Mapping[str, BrokerTerms]:
    """By the servers in the app's text. Raises AppTextError for a topic that may not be read or written, or that is
    both."""
    allowed = {one.servers: one for one in brokers}
    for end in outside.kafka_ends:
        problem = denial(end, allowed.get(end.servers))
        if problem is not None:
            raise AppTextError(end.at, problem)
    # one Kafka may have several names
    read = {(allowed[one.servers].address, topic) for one in outside.kafka_sources for topic in one.topics}
    for sink in outside.kafka_sinks:
        if (allowed[sink.servers].address, sink.topic) in read:
            problem = (
                f"the app reads the topic {sink.topic!r} of that Kafka too, and would feed itself; write to another"
            )
            raise AppTextError(sink.at, problem)
    return {end.servers: allowed[end.servers] for end in outside.kafka_ends}


def denial(end: KafkaSource | KafkaSink, broker: BrokerTerms | None) -> str | None:
    """Why the app may not do it here, in one sentence; None if it may. `broker`: what is said of its servers."""
    if broker is None:
        return f"topics of {end.servers} are not allowed here; the operator allows them below [apps.brokers]"
    is_source = isinstance(end, KafkaSource)
    done, allowed = ("read", broker.reads) if is_source else ("written", broker.writes)
    for topic in end.topics:
        if topic not in allowed:
            where = f"the operator allows it in {'reads' if is_source else 'writes'} of [apps.brokers]"
            return f"the topic {topic!r} of {end.servers} may not be {done} here; {where}"
        if broker.address == SESSION and not is_of_users(topic):
            own = f"names of an app's own topics begin with {APP_TOPICS!r} in the session's Kafka"
            return f"{topic!r} cannot be {done}: {own}, and streams of the product are read by their names"
    return None


def is_of_users(topic: str) -> bool:
    """Whether a topic of the session's own Kafka may be an app's to read and write."""
    return topic.startswith(APP_TOPICS) and not topic.startswith(APP_INPUT)
