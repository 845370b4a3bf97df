"""Every route of the OpenAPI document, asked for what it says and for what nobody thought of.

Schemathesis makes the requests: examples, the edges of every schema, then random ones, until its time is over. It has
an operator's key. Routes without an end are left to tests of their own. The part that runs published apps is there, so
that routes of apps reach one.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from session.access_terms import AccessTerms, RateTerms
from tests.launch.published.part_process import apps_part
from tests.ui.pages.browser import awaited, prepare
from tests.ui.samples import session_of
from tests.ui.serving import Served, served
from tests.web.serving import report

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
LEFT_OUT = ("/api/stream", "/api/apps/import")
"""The one never ends; the other takes a zip, which nobody makes by chance (`tests/ui/api/apps/test_injections.py`)."""
LONG_SECONDS = 600
UNLIMITED = RateTerms(100_000, 100_000)


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, kafka_address: str) -> Iterator[Served]:
    """One that says 429 to nobody: what lies behind is looked for."""
    plain = session_of(tmp_path_factory.mktemp("web"), mongodb_uri, f"test_{uuid4().hex}", kafka_address)
    session = replace(
        plain, page=replace(plain.page, access=AccessTerms(requests=UNLIMITED, changes=UNLIMITED, guesses=UNLIMITED))
    )
    awaited(prepare(session))
    with served(session) as running, apps_part(running.session):
        yield running


@pytest.mark.parametrize(
    ("seconds", "routes"),
    [
        pytest.param(45, "", marks=pytest.mark.whole),
        pytest.param(LONG_SECONDS, "", marks=pytest.mark.soak),
        pytest.param(LONG_SECONDS, "^/api/apps", marks=pytest.mark.soak),
    ],
    ids=("short", "long", "apps"),
)
def test_no_route_fails_and_every_answer_is_of_its_schema(
    unlimited: Served, tmp_path: Path, seconds: int, routes: str
) -> None:
    key = (unlimited.session.home / "api_key").read_text().strip()
    words = (Path(sys.executable).parent / "schemathesis", "run", f"http://{unlimited.address}/openapi.json")
    options = ("--checks", ",".join(CHECKS), "--max-time", str(seconds), "--continue-on-failure", "--no-color")
    # the short form asks the same each time: what chance finds belongs to the long one
    seeded = ("--seed", "1") if seconds < LONG_SECONDS else ()
    chosen = [word for path in LEFT_OUT for word in ("--exclude-path", path)]
    chosen += ["--include-path-regex", routes] if routes else []
    header = ("--header", f"X-API-Key: {key}")
    run = subprocess.run(
        [*words, *options, *seeded, *chosen, *header],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=seconds + 120,
        check=False,
    )
    report("schemathesis", {"seconds": seconds, "said": run.stdout[-1_500:].splitlines()[-25:]})
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Traceback" not in unlimited.log
