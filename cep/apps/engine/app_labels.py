"""What names an app in names of files and topics, which have limits of their own."""

import re

DIGEST_CHARACTERS = 8
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_LABEL = 100
"""Characters of a name."""


def label_of_name(name: str) -> str:
    """Return a label of a name of any characters and length. Names that differ in other marks alone share it."""
    return NOT_IN_NAMES.sub("-", name)[:LONGEST_LABEL]


def file_label(name: str, digest: str) -> str:
    """Return a label of a name with a digest; other digests have other labels."""
    return f"{label_of_name(name)}-{digest[:DIGEST_CHARACTERS]}"
