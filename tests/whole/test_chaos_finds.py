"""A chaos run of a build that lacks one rule finds that it does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.whole.broken_builds import BROKEN_BUILDS, BrokenBuild, make_build
from tests.whole.running import new_home, ours_running, with_cycles

SECONDS = 120
SEED = 1
LIMIT_SECONDS = 900


@pytest.mark.parametrize("broken", BROKEN_BUILDS, ids=lambda broken: broken.rule)
def test_each_guard_is_where_the_broken_build_removes_it(tmp_path: Path, broken: BrokenBuild) -> None:
    build = make_build(tmp_path / "build", broken)
    for edit in broken.edits:
        text = (build / edit.file).read_text()
        assert edit.without in text
        compile(text, edit.file, "exec")


@pytest.mark.soak
@pytest.mark.parametrize("broken", BROKEN_BUILDS, ids=lambda broken: broken.rule)
def test_chaos_finds_what_a_broken_build_does(tmp_path: Path, broken: BrokenBuild) -> None:
    build, home = make_build(tmp_path / "build", broken), new_home(tmp_path / "home")
    out = home / "out.json"
    market = with_cycles(tmp_path) if broken.has_cycles else ("--market", "storm")
    words = ("chaos", "--seconds", str(SECONDS), "--seed", str(SEED), *market, "--json", str(out))
    done = subprocess.run(
        (sys.executable, "-m", "launch.commands.main", *words),
        capture_output=True,
        text=True,
        cwd=build,
        env=os.environ | {"ARBITRAGE_HOME": str(home), "PYTHONPATH": str(build)},
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert out.exists(), done.stdout + done.stderr
    kinds = {one["kind"] for one in json.loads(out.read_text())["violations"]}
    assert kinds & broken.kinds, f"found {sorted(kinds)} without the rule"
    assert done.returncode == 1
    assert ours_running(home) == []
