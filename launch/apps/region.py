"""What an app knows of the region that it runs in."""

from launch.errors import CannotStartError

REGION = "region"
"""The variable that says which region it is."""

Variables = tuple[tuple[str, str], ...]


def variables_in(region: str, variables: Variables) -> Variables:
    """Return the variables with the region's name, so that no two regions give rows with equal ids. Raises
    CannotStartError if the user names another region."""
    named = dict(variables)
    if named.get(REGION, region) != region:
        raise CannotStartError(f"--var {REGION}={named[REGION]}: this is region {region} of the session; drop it.")
    return tuple(sorted((named | {REGION: region}).items()))
