"""Lines of a message, for formats that have a row in each."""

from cep.apps.formats.typed_values import check_rows, decoded

MOST_LINE = 1 << 16
"""Characters of one line."""


def lines_of(message: bytes) -> list[str]:
    """Return the lines that are not empty, without their ends. Raises ValueError."""
    found = [one.removesuffix("\r") for one in decoded(message).split("\n")]
    found = [one for one in found if one]
    check_rows(len(found))
    if any(len(one) > MOST_LINE for one in found):
        raise ValueError(f"a line has more than {MOST_LINE:,} characters")
    return found
