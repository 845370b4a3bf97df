"""Questions about texts are answered in a process of its own, whose end or slowness is never an answer."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from launch.apps.text_worker import answer
from tests.ui.samples import session_of
from ui.apps.app_texts import MOST_OF_ONE, AppTexts, TextsBusyError, TextTimeError

ENDS = "import sys; sys.stdin.readline()"
ECHOES = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"is": json.loads(line)["before"]}), flush=True)
"""


@pytest.fixture
async def ending(tmp_path: Path) -> AsyncIterator[AppTexts]:
    texts = AppTexts(session_of(tmp_path), (sys.executable, "-c", ENDS))
    yield texts
    await texts.close()


async def test_a_question_that_is_not_answered_is_an_error_of_its_own(ending: AppTexts) -> None:
    with pytest.raises(TextTimeError):
        await ending.explain("from quotes select bid insert into O;")
    with pytest.raises(TextTimeError):
        await ending.difference("a", "b", ("one", "two"))
    with pytest.raises(TextTimeError):
        await ending.check("from quotes select bid insert into O;")


async def test_two_versions_are_compared_in_that_process(tmp_path: Path) -> None:
    texts = AppTexts(session_of(tmp_path), (sys.executable, "-c", ECHOES))
    assert await texts.difference("as the process says", "b", ("one", "two")) == "as the process says"
    await texts.close()


async def test_who_asks_much_waits_behind_himself_alone(tmp_path: Path) -> None:
    """The process answers in turns: of ann's five questions one waits beside that of bob."""
    texts, order = AppTexts(session_of(tmp_path), (sys.executable, "-c", ECHOES)), list[str]()

    async def ask(who: str) -> None:
        await texts.difference(who, "b", ("one", "two"), who)
        order.append(who)

    many = [asyncio.create_task(ask("ann")) for _ in range(MOST_OF_ONE)]
    await asyncio.sleep(0)
    with pytest.raises(TextsBusyError):
        await ask("ann")
    await asyncio.gather(*many, ask("bob"))
    assert order.index("bob") == 1
    await texts.close()


def test_the_process_compares_by_lines() -> None:
    asked = {"do": "diff", "before": "a\nb", "after": "a\nc", "names": ["one", "two"]}
    lines = ["--- one", "+++ two", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert answer(asked, OperatorTerms()) == {"is": "\n".join(lines)}
    assert answer(asked | {"after": "a\nb"}, OperatorTerms()) == {"is": ""}
