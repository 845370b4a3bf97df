"""What the text of a published app is compiled with: the one place that decides it, for checks as for the host."""

from dataclasses import dataclass

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.hosts.shared_parts import check_shared
from launch.apps.region import variables_in
from session.session import Mode, Session

TAKES_ROWS: tuple[Mode, ...] = ("paper",)
"""Modes in which users may send rows into an app."""


@dataclass(frozen=True, slots=True)
class PublishedTexts:
    """Texts as a session of that mode runs them; `region`: the one that they run in, if the session has regions."""

    terms: OperatorTerms
    mode: Mode
    region: str | None = None

    def source(self, text: str, file_name: str) -> AppSource:
        """Return the app; `file_name`: its name, if the text gives none. Takes as long as compiling it. Raises
        AppTextError."""
        variables = () if self.region is None else variables_in(self.region, ())
        takes_rows = self.mode in TAKES_ROWS
        source = app_source(
            text, file_name, variables, self.terms, self.region, takes_rows=takes_rows, takes_replays=True
        )
        if self.region is not None:
            check_shared(source.app, source.outside)
        return source


def texts_of(session: Session, terms: OperatorTerms) -> PublishedTexts:
    """Return how the session's host compiles texts."""
    return PublishedTexts(terms, session.mode, session.place.region)
