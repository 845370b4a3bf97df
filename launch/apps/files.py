"""Files with stream apps. What is wrong with one is said whole: each mistake is one sentence that names the file."""

from collections.abc import Callable, Iterable
from pathlib import Path

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource, app_source, compiled_app
from cep.apps.hosts.shared_parts import check_shared
from cep.apps.language.errors import AppTextError
from cep.apps.texts.text_check import checked_text
from launch.apps.published_texts import PublishedTexts
from launch.apps.region import Variables, variables_in
from launch.errors import CannotStartError

Compile = Callable[[str, str], AppSource]
"""How a host compiles the text of the file of that name; raises AppTextError."""


class WrongAppError(CannotStartError):
    """No host can run the text of a file; the error says all that is wrong with it."""


def app_text(path: Path) -> str:
    """Return the file's text. Raises CannotStartError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise CannotStartError(f"{path}: is no text (byte {error.start} is not UTF-8).") from error


def in_file(place: Path | str, error: AppTextError) -> str:
    """Return one sentence that names the file."""
    return f"{place}, {error}" if error.problem.endswith("?") else f"{place}, {error}."


def mistakes_in(
    place: Path | str, text: str, name: str, terms: OperatorTerms, compiled: Compile | None = None
) -> list[str]:
    """Return a sentence for each mistake of the text, in their order; none if there is none."""
    return [in_file(place, one) for one in checked_text(text, name, terms, compiled).mistakes]


def right_text(place: Path | str, text: str, name: str, terms: OperatorTerms, compiled: Compile) -> AppSource:
    """Return the app. Raises WrongAppError."""
    try:
        return compiled(text, name)
    except AppTextError as error:
        raise _mistaken(mistakes_in(place, text, name, terms, compiled), place) from error


def explained_in(path: Path, terms: OperatorTerms) -> tuple[AppSource, StreamEngine]:
    """Return the app, and an engine of it that has seen nothing. Raises CannotStartError as `apps_in`."""
    text = app_text(path)
    try:
        return compiled_app(text, path.stem, (), terms)
    except AppTextError as error:
        raise _mistaken(mistakes_in(path, text, path.stem, terms), path) from error


def _mistaken(said: list[str], place: Path | str) -> WrongAppError:
    """Return all mistakes, a line each, with their number before them if there are several."""
    return WrongAppError("\n".join([f"{place}: {len(said)} mistakes.", *said] if len(said) > 1 else said))


def published_in(path: Path, texts: PublishedTexts) -> AppSource:
    """Return the app as the session's host runs it. Raises CannotStartError as `apps_in`."""
    return right_text(path, app_text(path), path.stem, texts.terms, texts.source)


def all_published_in(paths: Iterable[Path], texts: PublishedTexts) -> list[AppSource]:
    """Return the apps in their order, as the session's host runs them. Raises CannotStartError as `apps_in`."""
    return _all_right(paths, lambda path: published_in(path, texts))


def apps_in(
    paths: Iterable[Path], terms: OperatorTerms, variables: Variables = (), region: str | None = None
) -> list[AppSource]:
    """Return the apps in their order; `region`: the one that they run in, if the session has regions. Raises
    CannotStartError with all that is wrong, if no host can run some of them, or if two have the same name."""
    own = variables if region is None else variables_in(region, variables)

    def compiled(text: str, name: str) -> AppSource:
        source = app_source(text, name, own, terms, region)
        if region is not None:
            check_shared(source.app, source.outside)
        return source

    return _all_right(paths, lambda path: right_text(path, app_text(path), path.stem, terms, compiled))


def _all_right(paths: Iterable[Path], read: Callable[[Path], AppSource]) -> list[AppSource]:
    sources, wrong = list[tuple[Path, AppSource]](), list[str]()
    for path in paths:
        try:
            sources.append((path, read(path)))
        except WrongAppError as error:
            wrong.append(str(error))
    if wrong:
        raise WrongAppError("\n".join(wrong))
    return _named_apart(sources)


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
