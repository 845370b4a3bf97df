"""Three regions with real delays, started by who may not make networks: pages, commands and apps as for root."""

import json
from pathlib import Path

import httpx
import pytest

from launch.errors import CannotStartError
from launch.regions.network.user_network import user_network_fault
from launch.setup.jars import mirror_classpath
from tests.no_rights import WITHOUT_RIGHTS
from tests.whole.running import Running, new_home, ours_running, run_command, running_paper

pytestmark = [pytest.mark.whole, pytest.mark.soak]

APP = """@App:name('wide')
from quotes[ask > bid] select exchange, symbol, context:getVar('region') as region insert into Wide;"""


def closed(paper: Running, headers: dict[str, str]) -> int:
    answer = httpx.get(f"{paper.url}/api/arbitrages?state=closed", headers=headers, timeout=30)
    return len(answer.raise_for_status().json()["items"])


def test_they_trade_are_cut_and_healed_and_run_apps(tmp_path: Path) -> None:
    fault = user_network_fault()
    if fault is not None:
        pytest.skip(f"no user namespaces here: {fault}")
    home, out, rows = new_home(tmp_path / "home"), tmp_path / "out.json", tmp_path / "rows.jsonl"
    try:
        mirror_classpath(home)
    except CannotStartError as error:
        pytest.skip(str(error))
    app = tmp_path / "wide.app"
    app.write_text(APP)
    words = ("--regions", "us,eu,jp", "--wan", "--json", str(out))
    with running_paper(home, *words, before=WITHOUT_RIGHTS) as paper:
        paper.wait_for("trading on paper: http://127.0.0.1", 600)
        headers = {"X-API-Key": paper.key}
        # the last region's page has the third port
        last = Running(home, paper.port + 2, paper.process)
        assert httpx.get(f"{last.url}/api/regions", headers=headers, timeout=30).raise_for_status().json()
        paper.until(lambda: closed(paper, headers) > 0, 180, "nothing was closed")
        for command in (("cut", "jp"), ("state",), ("heal",)):
            done = run_command(home, "region", *command, before=WITHOUT_RIGHTS)
            assert done.returncode == 0, done.stderr
            assert ("cut" in done.stdout) == (command != ("heal",))
        app_words = ("app", "run", str(app), "--regions", "us,jp", "--seconds", "5", "--json", str(rows))
        done = run_command(home, *app_words, seconds=240, before=WITHOUT_RIGHTS)
        assert done.returncode == 0, done.stdout + done.stderr
        for region in ("us", "jp"):
            lines = rows.with_stem(f"rows-{region}").read_text().splitlines()
            assert {json.loads(line)["values"]["region"] for line in lines} == {region}
        assert paper.stop(180) == 0, paper.said
    assert json.loads(out.read_text())["balanced"] is True
    assert ours_running(home) == []
