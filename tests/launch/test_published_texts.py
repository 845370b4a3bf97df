"""A text is compiled in one way by all who look at it before it runs, and by the host: as the session runs it."""

from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.errors import AppTextError
from launch.apps.acting import check_may_act
from launch.apps.files import all_published_in
from launch.apps.published_texts import PublishedTexts
from launch.apps.text_worker import answer
from launch.errors import CannotStartError
from session.app_actions import AppActionTerms
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


ACTING = {
    "pauses": ("from quotes select base as asset insert into AssetPauses;", AppActionTerms("app", pause=True)),
    "resumes": ("from quotes select base as asset insert into AssetResumes;", AppActionTerms("app", pause=True)),
    "a threshold": (
        "from quotes select base as asset, 9.0 as min_net_bps insert into AssetThresholds;",
        AppActionTerms("app", asset_thresholds=(1, 9)),
    ),
    "a threshold of a pair": (
        "from quotes select exchange as buy_exchange, 'kraken' as sell_exchange, 9.0 as min_net_bps "
        "insert into PairThresholds;",
        AppActionTerms("app", pair_thresholds=(1, 9)),
    ),
    "a notice": ("from quotes select base as text insert into OperatorNotices;", AppActionTerms("app", notices=True)),
}


@pytest.mark.parametrize("what", ACTING)
def test_an_app_that_acts_is_published_only_if_the_operator_allows_it(what: str) -> None:
    text, terms = ACTING[what]
    source = PublishedTexts(TERMS, "paper").source(text, "app")
    check_may_act(source, (AppActionTerms("other"), terms))
    for others in ((), (AppActionTerms("other", True, (1, 9), (1, 9), True),), (AppActionTerms("app"),)):
        with pytest.raises(CannotStartError, match=r"may not act on the session; write .* below \[apps.actions.app\]"):
            check_may_act(source, others)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from quotes select base insert into AssetPauses;", "has no column asset; it needs asset."),
        (
            "from quotes select base as asset insert into AssetPauses; from AssetPauses select asset insert into Out;",
            "reads AssetPauses itself, so no row of it would act",
        ),
    ],
)
def test_an_app_whose_rows_could_not_act_is_not_published(text: str, said: str) -> None:
    source = PublishedTexts(TERMS, "paper").source(text, "app")
    with pytest.raises(CannotStartError, match=said):
        check_may_act(source, (AppActionTerms("app", pause=True),))


def test_the_check_says_how_a_text_acts() -> None:
    asked = {"do": "check", "name": "app", "mode": "paper", "region": None}
    acting = answer(asked | {"text": ACTING["a threshold"][0]}, TERMS)["is"]
    assert acting["acts"] == {"AssetThresholds": ("asset", "min_net_bps")}
    assert "acts" not in answer(asked | {"text": SENT}, TERMS)["is"]
