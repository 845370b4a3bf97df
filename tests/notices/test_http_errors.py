"""How long a destination asks to be left alone."""

import pytest

from notices.channels.http_errors import check_answer, seconds_to_wait

NOW = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("999999", 3_600),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
        ("Thu, 14 Nov 2030 22:00:00 GMT", 3_600),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("Tue, 14 Nov 2023 22:00:00 +99999999999999999999", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_taken(status: int) -> None:
    check_answer(status)
