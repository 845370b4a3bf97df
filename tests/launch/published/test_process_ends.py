"""Processes that end again and again are reported with the last reason; a single end is not."""

import pytest

from launch.published.process_ends import MINUTE, ProcessEnds, end_words


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((), ""),
        (((0, "a"),), ""),
        (((0, "a"), (1, "b")), "restarted 2 times in the last minute: b"),
        (((-MINUTE, "a"), (1, "b")), ""),
        (((-MINUTE, "a"), (1, "b"), (2, "c")), "restarted 2 times in the last minute: c"),
    ],
)
def test_what_is_told(ends: tuple[tuple[int, str], ...], told: str) -> None:
    found = ProcessEnds()
    for at, why in ends:
        found.add(at, why)
    assert (found.trouble(3), found.count) == (told, len(ends))


@pytest.mark.parametrize(
    ("code", "noted", "words"),
    [
        (1, "Kafka is away.", "Kafka is away"),
        (-9, "", "its process was killed by SIGKILL"),
        (-9, "it took too much memory", "it took too much memory"),
        (3, "", "its process ended with exit code 3"),
    ],
)
def test_why_a_process_ended(code: int, noted: str, words: str) -> None:
    assert end_words(code, noted) == words
