"""What is wrong with the text of an app, and where."""

from cep.apps.errors import AppError
from cep.apps.language.expression_tree import Place


class AppTextError(AppError):
    """The app cannot run as it is written. The text names the place, what is wrong and what was expected."""

    def __init__(self, at: Place, problem: str, expected: tuple[str, ...] = (), nearest: str | None = None) -> None:
        """`problem`: one sentence without its place. `expected`: what may stand there, as `problem` says it.
        `nearest`: the known word or name that is most like the one that stands there."""
        super().__init__(f"line {at.line}, column {at.column}: {problem}")
        self.at = at
        self.problem = problem
        self.expected = expected
        self.nearest = nearest


class UnknownNameError(AppTextError):
    """Nothing has the name there."""

    def __init__(self, at: Place, problem: str, name: str, expected: tuple[str, ...], nearest: str | None) -> None:
        super().__init__(at, problem, expected, nearest)
        self.name = name


class AppUnsupportedError(AppTextError):
    """Correct in the language, but not available here."""
