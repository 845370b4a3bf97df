"""A text is compiled in one way by all who look at it before it runs, and by the host: as the session runs it."""

from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.errors import AppTextError
from launch.apps.files import all_published_in
from launch.apps.published_texts import PublishedTexts
from launch.apps.text_worker import answer
from session.session import Mode

SHIPPED = sorted((Path(__file__).parents[2] / "apps").glob("*.app"))
TERMS = OperatorTerms()
SENT = "define stream Marks (text string); from Marks select text insert into Out;"
CIRCLE = """CREATE STREAM GLOBAL G (n long); from quotes select 1L as n insert into G;
from G select n + 1L as n insert into G;"""


@pytest.mark.parametrize("region", [None, "us"])
def test_every_shipped_app_can_be_published_in_a_paper_session(region: str | None) -> None:
    found = all_published_in(SHIPPED, PublishedTexts(TERMS, "paper", region))
    assert [one.name for one in found] == [path.stem for path in SHIPPED]


@pytest.mark.parametrize(
    ("text", "mode", "region", "is_right"),
    [
        (SENT, "paper", None, True),
        (SENT, "live", None, False),
        (CIRCLE, "paper", None, True),
        (CIRCLE, "paper", "us", False),
    ],
)
def test_the_check_says_what_the_host_would(text: str, mode: Mode, region: str | None, is_right: bool) -> None:
    asked = {"do": "check", "text": text, "name": "app", "mode": mode, "region": region}
    checked = answer(asked, TERMS)["is"]
    texts = PublishedTexts(TERMS, mode, region)
    if is_right:
        assert (checked["mistakes"], checked["version"]) == ([], texts.source(text, "app").version)
        return
    with pytest.raises(AppTextError) as refused:
        texts.source(text, "app")
    assert [one["message"] for one in checked["mistakes"]] == [refused.value.problem]
