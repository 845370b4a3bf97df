"""The processes that the dashboard starts for apps read the session's own file, as the part that runs apps does."""

from pathlib import Path

import pytest

from tests.ui.api.apps.app_samples import WIDE
from tests.ui.samples import session_of
from tests.ui.waiting import until
from ui.apps.app_processes import DRY_RUN, TEXTS, configured
from ui.apps.app_texts import AppTexts
from ui.apps.dry_runs import DryRuns

KEYS = f"@App:limits(keys = '10') {WIDE}"
ALLOWED = "a number above 0 and up to 5 is expected, which the operator allows"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "of the session.toml"
    file.write_text("[apps.limits]\nkeys = 5\n")
    return file


async def test_a_text_is_checked_by_the_limits_of_the_sessions_file(tmp_path: Path, config: Path) -> None:
    texts = AppTexts(session_of(tmp_path), configured(TEXTS, config))
    (mistake,) = (await texts.check(KEYS))["mistakes"]
    assert ALLOWED in mistake["message"]
    await texts.close()


async def test_a_dry_run_has_the_limits_of_the_sessions_file(tmp_path: Path, config: Path) -> None:
    (tmp_path / "run.json").write_bytes(session_of(tmp_path).to_json())
    dry_runs = DryRuns(tmp_path, configured(DRY_RUN, config))
    wanted = {"text": KEYS, "name": "wide", "source": {"session": "nothing"}}
    run_id = dry_runs.ask(wanted, "ada")["id"]
    await until(lambda: dry_runs.view(run_id)["state"] not in ("queued", "running"), seconds=120)
    found = dry_runs.view(run_id)
    assert (found["state"], ALLOWED in found["reason"]) == ("failed", True)
    await dry_runs.close()
