"""What is wrong with the text of an app, and where."""

from cep.apps.errors import AppError
from cep.apps.language.expression_tree import Place


class AppTextError(AppError):
    """The app cannot run as it is written. The text names the place, what is wrong and what was expected."""

    def __init__(self, at: Place, problem: str) -> None:
        """`problem`: one sentence without its place."""
        super().__init__(f"line {at.line}, column {at.column}: {problem}")
        self.at = at
        self.problem = problem


class AppUnsupportedError(AppTextError):
    """Correct in the language, but not available here."""
