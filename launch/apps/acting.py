"""Whether an app that acts on the session may be published."""

from collections.abc import Iterable, Mapping

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.language.stream_names import output_streams, stream_names
from launch.errors import CannotStartError
from session.app_actions import COLUMNS, AppActionTerms, action_problem

Written = Mapping[str, tuple[str, ...] | None]


def written_actions(source: AppSource) -> Written:
    """Return the streams by which the app acts, with their columns; None: it reads such a stream itself."""
    inserted = stream_names(source.app).inserted
    mine = [name for name in COLUMNS if name in inserted]
    if not mine:
        return {}
    streams, outputs = StreamEngine(source.app, terms=source.terms).plan.streams, output_streams(source.app)
    return {name: tuple(one.name for one in streams[name]) if name in outputs else None for name in mine}


def check_may_act(source: AppSource, allowed: Iterable[AppActionTerms]) -> None:
    """Raise CannotStartError if the app acts, and the operator does not allow it."""
    problem = action_problem(source.name, written_actions(source), allowed)
    if problem is not None:
        raise CannotStartError(problem)
