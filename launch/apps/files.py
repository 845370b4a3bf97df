"""Files with stream apps. Every mistake is one sentence that names the file."""

from collections.abc import Iterable
from pathlib import Path

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource, compiled_app
from cep.apps.hosts.shared_parts import check_shared
from cep.apps.language.errors import AppTextError
from launch.apps.published_texts import PublishedTexts
from launch.apps.region import Variables, variables_in
from launch.errors import CannotStartError


def app_text(path: Path) -> str:
    """Return the file's text. Raises CannotStartError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise CannotStartError(f"{path}: is no text (byte {error.start} is not UTF-8).") from error


def in_file(path: Path, error: AppTextError) -> str:
    """Return one sentence that names the file."""
    return f"{path}, {error}" if error.problem.endswith("?") else f"{path}, {error}."


def app_in(
    path: Path, terms: OperatorTerms, variables: Variables = (), region: str | None = None
) -> tuple[AppSource, StreamEngine]:
    """Return the app, and an engine of it that has seen nothing. Raises CannotStartError if no host can run it."""
    try:
        return compiled_app(app_text(path), path.stem, variables, terms, region)
    except AppTextError as error:
        raise CannotStartError(in_file(path, error)) from error


def published_in(path: Path, texts: PublishedTexts) -> AppSource:
    """Return the app as the session's host runs it. Raises CannotStartError if it does not."""
    try:
        return texts.source(app_text(path), path.stem)
    except AppTextError as error:
        raise CannotStartError(in_file(path, error)) from error


def all_published_in(paths: Iterable[Path], texts: PublishedTexts) -> list[AppSource]:
    """Return the apps in their order, as the session's host runs them. Raises CannotStartError as `apps_in`."""
    return _named_apart((path, published_in(path, texts)) for path in paths)


def apps_in(
    paths: Iterable[Path], terms: OperatorTerms, variables: Variables = (), region: str | None = None
) -> list[AppSource]:
    """Return the apps in their order; `region`: the one that they run in, if the session has regions. Raises
    CannotStartError if no host can run one of them, or two have the same name."""
    if region is not None:
        variables = variables_in(region, variables)
    return _named_apart((path, _run_in(path, terms, variables, region)) for path in paths)


def _run_in(path: Path, terms: OperatorTerms, variables: Variables, region: str | None) -> AppSource:
    source, _ = app_in(path, terms, variables, region)
    if region is not None:
        _check_shared(path, source)
    return source


def _named_apart(sources: Iterable[tuple[Path, AppSource]]) -> list[AppSource]:
    """Return the apps; raise CannotStartError if two have one name."""
    found: list[AppSource] = []
    places: dict[str, Path] = {}
    for path, source in sources:
        # names that differ only in a mark are the same in names of files and topics
        for name in (source.name, source.label):
            other = places.setdefault(name, path)
            if other is not path:
                raise CannotStartError(
                    f"{other} and {path}: both apps are named {source.name!r}; give one of them another name with "
                    "@App:name, or leave it out."
                )
        found.append(source)
    return found


def _check_shared(path: Path, source: AppSource) -> None:
    try:
        check_shared(source.app, source.outside)
    except AppTextError as error:
        raise CannotStartError(in_file(path, error)) from error
