"""`arbitrage app`: check a stream app, run its cases, run it."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cep.apps.ends.sink_ends import AnswerTarget, EventsTarget, SentSink
from cep.apps.engine.app_cases import AppCaseError, differences, read_case
from cep.apps.engine.explanation import described_parts
from cep.apps.engine.host_choice import host_of
from cep.apps.engine.partition_independence import dependent_queries
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.formats.case_messages import with_rows
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_outside import app_outside
from cep.apps.hosts.call_addresses import address_of
from cep.apps.hosts.event_watch import CaseWatch, bounded_memory, memory_problem, watched
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import CALLS, TABLES
from cep.apps.hosts.kafka_addresses import SESSION, denial
from cep.apps.hosts.kafka_ends import KAFKA, KafkaSource
from cep.apps.hosts.product_streams import STORE, parse_with_product_streams, read_streams
from cep.apps.language.errors import AppTextError
from cep.apps.language.stream_names import output_streams
from cep.apps.parts.app_limits import AppLimitError, AppLimits
from launch.apps.configured_terms import configured_terms
from launch.apps.files import app_text, apps_in, explained_in, in_file, mistakes_in
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import home_folder
from streams.topics import APPS, HEALTH

Echo = Callable[[str], None]
PUBLISHING = ("publish", "snapshot", "stop", "start", "list", "versions", "status")
_NOT_TOPICS = {STORE: "MongoDB", CALLS: "responses to its requests"}


def run_app(arguments: argparse.Namespace, echo: Echo) -> int:
    """Run the command. Raises LaunchError in one sentence."""
    if arguments.work == "demo":
        from launch.demos.engagement import engagement

        for line in engagement():
            echo(line)
        return 0
    terms = configured_terms(getattr(arguments, "config", None))
    if arguments.work == "snapshot" and arguments.savepoint is not None:
        return _save(arguments, terms, echo)
    if arguments.work == "run" and arguments.regions:
        from launch.apps.in_regions import run_in_regions

        words = _words_in_regions(arguments)
        # a mistake in the text is reported once, and not by each region
        apps_in(arguments.files, terms, variables_of(arguments.var), arguments.regions[0])
        return run_in_regions(home_folder(), arguments.regions, words, arguments.json, echo)
    if arguments.work == "run":
        from launch.commands.app_run import AppRunOptions, run_app_command

        options = AppRunOptions(
            tuple(arguments.files),
            arguments.replay,
            arguments.json,
            arguments.seconds,
            variables_of(arguments.var),
            terms,
            arguments.savepoint,
        )
        return run_app_command(home_folder(), options, echo)
    if arguments.work in PUBLISHING:
        from launch.published.orders import run_publishing

        return run_publishing(home_folder(), arguments, terms, echo)
    return _run_text(arguments, terms, echo)


def _run_text(arguments: argparse.Namespace, terms: OperatorTerms, echo: Echo) -> int:
    """Run what needs an app's text alone."""
    if arguments.work == "explain":
        for line in explanation(arguments.file, terms):
            echo(line)
        return 0
    text = app_text(arguments.file)
    if arguments.work == "check":
        _tell_mistakes(arguments.file, text, terms, echo)
    engine = _checked(arguments.file, text, terms, with_ends=arguments.work == "check")
    if arguments.work == "check":
        echo(f"{arguments.file}: no mistake found")
        for line in described_parts(engine.plan):
            echo(f"  {line}")
        return 0
    limits = engine.plan.limits
    with bounded_memory(limits.worker_bytes):
        return _test(text, arguments.cases, CaseBounds(terms, limits), echo)


def _save(arguments: argparse.Namespace, terms: OperatorTerms, echo: Echo) -> int:
    from launch.commands.app_run import AppRunOptions, save_app_command

    of_file = AppRunOptions((Path(arguments.app),), variables=variables_of(arguments.var), terms=terms)
    return save_app_command(home_folder(), arguments.savepoint, of_file, echo)


def _words_in_regions(arguments: argparse.Namespace) -> list[str]:
    """Return the words for each region's command. Raises CannotStartError for options that fit only one place."""
    if arguments.replay is not None:
        raise CannotStartError("--regions is for a running session; drop it, or drop --replay.")
    if arguments.savepoint is not None:
        raise CannotStartError("--from is for one app of one region; drop it, or drop --regions.")
    if any(name == "region" for name, _ in variables_of(arguments.var)):
        raise CannotStartError("--var region=… is the region's own name with --regions; drop one of them.")
    words = [str(file) for file in arguments.files]
    for variable in arguments.var:
        words += ["--var", variable]
    if arguments.config is not None:
        words += ["--config", str(arguments.config.resolve())]
    return words if arguments.seconds is None else [*words, "--seconds", str(arguments.seconds)]


def explanation(path: Path, terms: OperatorTerms) -> Iterator[str]:
    """Return what the app is made of. Raises CannotStartError if no host can run it."""
    source, engine = explained_in(path, terms)
    yield f"{source.name}, version {source.version}"
    yield from (f"  {line}" for line in described_parts(engine.plan))
    streams = ", ".join(stream.name for stream in read_streams(source.app))
    given = ", ".join(output_streams(source.app))
    reads = f"{streams} {_origin(source)}" if streams else f"the clock {_origin(source)}"
    yield f"reads {reads}; gives {given} to the topic {APPS}"
    yield from _outside(source)
    most = f"{engine.plan.limits.state_bytes:,} bytes"
    if source.host == "structured":
        yield f"runs in Spark's micro-batches on {source.topic}, whose state of each key has at most {most}"
    elif not source.is_keyed:
        yield f"runs as one Spark task on {source.topic}, whose snapshot has at most {most}"
    else:
        yield f"runs as a Spark task for each partition of {source.topic}, whose snapshot has at most {most}"
    if source.is_keyed:
        yield from _by_partitions(source)


def _by_partitions(source: AppSource) -> Iterator[str]:
    """Return what depends on how many partitions the log has."""
    if source.is_merged and HEALTH in source.sources:
        yield f"with more than one partition each has all rows of {HEALTH}, which belong to no asset"
    if source.outside.topics:
        yield "with more than one partition a row of a topic is in that of the base which is its Kafka key"
    dependent = dependent_queries(source.app)
    if dependent:
        where = ", ".join(dependent)
        yield f"with more than one partition each has a state of its own in {where}; partition by base to avoid that"
    else:
        yield "gives the same rows with any number of partitions"


def _origin(source: AppSource) -> str:
    if not source.is_merged:
        return f"of the topic {source.topic}"
    of_users = source.outside.topics
    named = {name: f"the topic {name.removeprefix(f'{KAFKA}:')}" for name in of_users} | _NOT_TOPICS
    places = (named.get(one, f"the topic {one}") for one in source.sources if one != TABLES)
    return f"of {' and '.join(places)}, merged into the topic {source.topic}"


def _outside(source: AppSource) -> Iterator[str]:
    """Return a line for each sink, and what becomes of its rows."""
    outside, allowed = source.outside, dict(source.terms.addresses)
    for log in outside.logs:
        yield f"sink {log.stream}: a line for each row, behind {log.prefix!r}"
    for named in outside.named:
        yield f"sink {named.stream}: the topic {APPS}, under this name"
    for call in outside.calls:
        address = address_of(call, allowed)
        place = "not allowed here; see [apps.addresses]" if address is None else f"mapped to {address}{call.path}"
        yield f"sink {call.stream}: {call.method} {call.url}, {place}"
        for source_ in outside.responses_to(call):
            yield f"source {source_.stream}: responses to that with the status {source_.status}"
    yield from _topics(source)
    yield from _servers(source)
    for table in outside.tables:
        yield f"table {table.table}: kept in MongoDB, collection {table.collection!r} of this app"


def _topics(source: AppSource) -> Iterator[str]:
    """Return a line for each source and sink that is a Kafka topic of the user's own."""
    brokers = {one.servers: one for one in source.terms.brokers}
    for end in source.outside.kafka_ends:
        kind, topics = ("source" if isinstance(end, KafkaSource) else "sink"), ", ".join(end.topics)
        broker = brokers.get(end.servers)
        if broker is None or denial(end, broker) is not None:
            place = "not allowed here; see [apps.brokers]"
        else:
            place = "of the session's Kafka" if broker.address == SESSION else f"mapped to {broker.address}"
        yield f"{kind} {end.stream}: the topic {topics} of {end.servers}, {place}"


def _servers(source: AppSource) -> Iterator[str]:
    """Return a line for each sink and source at servers of others, without paths and logins."""
    outside, terms = source.outside, source.terms
    known = {name for name, _ in terms.addresses} | {one.name for one in terms.servers}
    for sink in outside.sent:
        where = _where(sink)
        table = "[apps.addresses]" if sink.server is not None and sink.server.startswith("http") else "[apps.servers]"
        place = "" if sink.server is None or sink.server in known else f", not allowed here; see {table}"
        yield f"sink {sink.stream}: {sink.type} to {where}{place}"
    for one in outside.received:
        yield f"source {one.stream}: {one.type} {one.origin}"


def _where(sink: SentSink) -> str:
    match sink.target:
        case EventsTarget(path=path):
            return f"whoever listens at {path}"
        case AnswerTarget(source=service):
            return f"requests of the source {service}"
        case _:
            return sink.server or "the address in each row"


def variables_of(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the variables by name. Raises CannotStartError if one is not NAME=VALUE."""
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise CannotStartError(f"--var {word}: write NAME=VALUE, such as region=eu.")
        found[name] = value
    return tuple(sorted(found.items()))


def _tell_mistakes(path: Path, text: str, terms: OperatorTerms, echo: Echo) -> None:
    """Say all mistakes of the text, a line each, if it has several; raise CannotStartError then."""

    def compiled(text: str, name: str) -> AppSource:
        _engine_of(text, terms, with_ends=True)
        return AppSource(name, text)

    mistakes = mistakes_in(path, text, path.stem, terms, compiled)
    if len(mistakes) > 1:
        for mistake in mistakes:
            echo(mistake)
        raise CannotStartError(f"{path}: {len(mistakes)} mistakes.")


def _checked(path: Path, text: str, terms: OperatorTerms, *, with_ends: bool) -> StreamEngine:
    """Check the text; `with_ends`: also its host, sinks, sources and stores, which cases need not have. Raises
    CannotStartError."""
    try:
        return _engine_of(text, terms, with_ends=with_ends)
    except AppTextError as error:
        raise CannotStartError(in_file(path, error)) from error


def _engine_of(text: str, terms: OperatorTerms, *, with_ends: bool) -> StreamEngine:
    """Raise AppTextError."""
    app = parse_with_product_streams(text)
    engine = StreamEngine(app, terms=terms)
    if with_ends:
        app_outside(app, terms.schemas)
        host_of(app)
    return engine


@dataclass(frozen=True, slots=True)
class CaseBounds:
    """What an app's cases may use and consume."""

    terms: OperatorTerms
    limits: AppLimits


def _test(text: str, cases: Path, bounds: CaseBounds, echo: Echo) -> int:
    """Run the cases. Returns exit code 1 if one differs."""
    ran = failed = 0
    for number, line in _lines(cases):
        name, found = _outcome(f"{cases}, line {number}", line, text, bounds)
        ran += 1
        failed += bool(found)
        for problem in found:
            echo(f"{name}: {problem}")
    if not ran:
        raise LaunchError(f"{cases}: has no case.")
    echo(f"{ran - failed} of {ran} cases as expected")
    return 1 if failed else 0


def _lines(cases: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(app_text(cases).splitlines(), start=1):
        if line.strip():
            yield number, line


def _outcome(place: str, line: str, text: str, bounds: CaseBounds) -> tuple[str, list[str]]:
    """Return the case's name, and what differs."""
    watch = CaseWatch(bounds.limits)
    try:
        case = read_case(with_rows(line, text, parse_with_product_streams, bounds.terms.schemas))
        with watched(watch):
            return case.id, differences(case, text, parse_with_product_streams, bounds.terms, watch.begin)
    except (AppCaseError, AppTextError, AppLimitError) as error:
        raise CannotStartError(f"{place}: {error}.") from error
    except MemoryError:
        raise CannotStartError(f"{place}: {memory_problem(bounds.limits)}.") from None
