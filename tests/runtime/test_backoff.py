import random
from itertools import islice

import pytest

from runtime.backoff import backoff, jittered, retry_on


def test_delays_double_up_to_the_longest_with_a_tenth_of_jitter() -> None:
    expected = [0.5, 1.0, 2.0, 4.0, 4.0]
    delays = list(islice(backoff(0.5, 2.0, 4.0), 5))
    assert delays == [pytest.approx(delay, rel=0.1001) for delay in expected]


def test_the_same_chance_gives_the_same_delays() -> None:
    one, two, other = (list(islice(backoff(chance=random.Random(seed)), 5)) for seed in (1, 1, 2))
    assert one == two != other


def test_jitter_differs() -> None:
    chance = random.Random(1)
    assert len({jittered(1.0, chance) for _ in range(20)}) == 20


async def test_what_is_away_is_asked_again_until_it_answers() -> None:
    on_outage: list[str] = []
    answers: list[int | Exception] = [OSError("away"), OSError("still away"), 7]

    async def call() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await retry_on(call, (OSError,), lambda error: on_outage.append(str(error)), first=0) == 7
    assert on_outage == ["away", "still away"]


async def test_what_cannot_get_better_is_raised_at_once() -> None:
    async def call() -> int:
        raise ValueError("never")

    with pytest.raises(ValueError, match="never"):
        await retry_on(call, (OSError,), lambda _: None)
