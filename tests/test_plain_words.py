"""Words that were given up are found when they come back."""

import pytest

from tests.plain_words import OLD_TO_NEW, old_words, texts


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It was told.", 1),
        ("fine\nwhat it Forwent", 2),
        ("Reads ANEW", 1),
        ("half reserved", 1),
        ("half_reserved", 1),
        ("re-enactment", 1),
        ("self._told_streams", 1),
        ("class ToldStreams", 1),
        ("always disbelieved", 1),
    ],
)
def test_an_old_word_is_seen_with_its_line(text: str, line: int) -> None:
    assert [where for where, _ in old_words(text)] == [line]


@pytest.mark.parametrize("text", ["renewed", "untold_x", "the last sign of a market", "wishful", "it left early"])
def test_plain_english_is_not(text: str) -> None:
    assert list(old_words(text)) == []


def test_code_pages_and_documents_are_looked_at() -> None:
    names = [name for name, _ in texts()]
    assert {"README.md", "docs/glossary.md", "market/money.py", "ui/assets/header.js"} <= set(names)
    assert not [name for name in names if name.startswith("docs/adr/") or "vendor" in name]
    assert len(OLD_TO_NEW) > 25
