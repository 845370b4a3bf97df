"""What an app has of the region that it runs in, and what it cannot have there."""

from cep.language.app_tree import App, StreamDefinition, TableDefinition
from cep.language.language_errors import AppUnsupportedError
from launch.errors import CannotStartError

REGION = "region"
"""The variable that says which region it is."""

Variables = tuple[tuple[str, str], ...]


def variables_in(region: str, variables: Variables) -> Variables:
    """With the region's name, so that no two regions give rows with equal ids. Raises CannotStartError where the user
    names another region."""
    named = dict(variables)
    if named.get(REGION, region) != region:
        raise CannotStartError(f"--var {REGION}={named[REGION]}: this is region {region} of the session; drop it.")
    return tuple(sorted((named | {REGION: region}).items()))


def check_local(app: App) -> None:
    """Raises AppUnsupportedError where the app wants rows that all regions share."""
    for one in app.definitions:
        if isinstance(one, StreamDefinition | TableDefinition) and one.scope == "global":
            problem = f"{one.name!r} is GLOBAL, but regions do not share rows of apps yet"
            raise AppUnsupportedError(one.at, f"not supported: {problem}; write LOCAL, and each region has its own")
