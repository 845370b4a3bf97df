"""Why an app cannot go on, as the one error that its users get."""

from cep.apps.engine.feeding_streams import too_deep
from cep.apps.engine.junctions import FAULTS
from cep.apps.errors import AppFailedError
from cep.apps.language.app_tree import App
from cep.apps.parts.app_limits import AppLimitError

FAILURES = (*FAULTS, RecursionError, AppLimitError)
"""What an engine raises while it computes."""


def failure(error: Exception, what: str, app: App) -> AppFailedError:
    """`error`: one of FAILURES. `what` was computed, such as a row and its place in the log."""
    match error:
        case AppLimitError():
            return AppFailedError(f"the app was ended at {what}: {error}")
        case RecursionError():
            return AppFailedError(f"{what} cannot be computed: {too_deep(app)}")
        case _:
            return AppFailedError(f"{what} cannot be computed: {error}")
