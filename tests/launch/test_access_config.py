from pathlib import Path

import pytest

from launch.config.configuration import read_configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.paper import paper_session
from session.access_terms import AccessTerms, OidcTerms, RateTerms
from session.app_actions import AppActionTerms
from session.session import Session

OIDC = '[oidc]\nissuer = "https://login.example/realm"\naudience = "arbitrage"\n'


def reported(tmp_path: Path, text: str) -> AccessTerms:
    file = tmp_path / "arbitrage.toml"
    file.write_text(text)
    return read_configuration(file, {}).access


def test_nothing_said_means_reading_on_loopback_is_open(tmp_path: Path) -> None:
    assert reported(tmp_path, "") == AccessTerms()


def test_all_of_it_reaches_the_session_and_its_file(tmp_path: Path) -> None:
    file = tmp_path / "arbitrage.toml"
    limits = "[limits]\nrequests_per_second = 1000\nrequests_burst = 2000\nwrong_keys_burst = 5\n"
    roles = 'role_claim = "realm_access.roles"\noperators = ["trader"]\nviewers = ["desk", "audit"]\n'
    file.write_text(f"require_key = true\n{limits}{OIDC}{roles}[apps]\nmay_halt = ['three-rejections']\n")
    session = paper_session(tmp_path, PaperOptions(), read_configuration(file, {}))
    terms = Session.from_json(session.to_json()).page.access
    assert terms == AccessTerms(
        require_key=True,
        requests=RateTerms(1_000, 2_000),
        changes=RateTerms(10, 40),
        guesses=RateTerms(0.2, 5),
        oidc=OidcTerms(
            "https://login.example/realm", "arbitrage", "realm_access.roles", ("trader",), ("desk", "audit")
        ),
        halting_apps=("three-rejections",),
    )


def test_what_apps_may_do_reaches_the_session_and_its_file(tmp_path: Path) -> None:
    file = tmp_path / "arbitrage.toml"
    guard = "[apps.actions.guard]\npause = true\nasset_thresholds = [4, 40]\nper_minute = 2\n"
    file.write_text(f"{guard}[apps.actions.teller]\nnotices = true\n")
    session = paper_session(tmp_path, PaperOptions(), read_configuration(file, {}))
    terms = Session.from_json(session.to_json()).page.access
    assert terms.acting_apps == (
        AppActionTerms("guard", pause=True, asset_thresholds=(4, 40), per_minute=2),
        AppActionTerms("teller", notices=True),
    )
    assert [terms.acts_on_trading(name) for name in ("guard", "teller", "other")] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[apps.actions.guard]\nasset_thresholds = [40, 4]", "write the lowest value first"),
        ("[apps.actions.guard]\nasset_thresholds = [4]", "asset_thresholds"),
        ("[apps.actions.guard]\npair_thresholds = [4, 20000]", "at most 10,000"),
        ("[apps.actions.guard]\nper_minute = 0", "per_minute"),
        ("[apps.actions.guard]\nresume = true", "there is no such setting"),
        ("require_key = 7", "require_key"),
        ("[limits]\nrequests_per_second = 0", "limits.requests_per_second"),
        ("[limits]\nchanges_burst = 0", "limits.changes_burst"),
        ("[limits]\nrequests = 7", "there is no such setting"),
        ('[oidc]\nissuer = "https://login.example"', "oidc.audience: is missing"),
        (OIDC.replace("https", "http"), "must be an https address"),
        (OIDC.replace("login.example", "user:word@login.example"), "must be an https address"),
        (OIDC.replace("https://login.example/realm", "login"), "must be an https address"),
        (f'{OIDC}operators = ["a"]\nviewers = ["a"]', "is among operators and viewers"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CannotStartError, match=said):
        reported(tmp_path, text)
