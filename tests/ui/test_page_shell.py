"""Streamlit's HTML file with our title, icon, server and scripts, at the path of each page."""

import ast
import re
from pathlib import Path

import httpx
import pytest

from ui.http.page_files import ASSETS, module_chain
from ui.page_parts.own_component import COMPONENTS
from ui.pages.shell import (
    ICON,
    ON_PHONES,
    OURS,
    PATHS,
    PLOT,
    ROOT,
    STREAMLIT,
    bottom_links,
    early_scripts,
    halt_button,
    page_shell,
)
from ui.server.application import FOLDER, SCRIPT

ROUTES = {"labels.js"}
"""Scripts that the server writes."""


@pytest.mark.parametrize("path", PATHS)
def test_it_is_the_file_of_streamlit_in_all_but_our_five_places(path: str) -> None:
    shell = page_shell(path)
    added = {"</head>": early_scripts(PATHS[path]) + "</head>", ROOT: halt_button() + bottom_links(path) + ROOT}
    for theirs, ours in (OURS | added).items():
        assert shell.count(ours) == 1
        shell = shell.replace(ours, theirs)
    assert shell == STREAMLIT.read_text()


def test_its_icon_is_a_file_of_ours() -> None:
    assert (FOLDER / ICON.lstrip("/")).read_text().startswith("<svg")


def test_it_stands_at_every_page_that_the_script_names() -> None:
    calls = (node for node in ast.walk(ast.parse(SCRIPT.read_text())) if isinstance(node, ast.keyword))
    named = {ast.literal_eval(node.value) for node in calls if node.arg == "url_path"}
    assert {"/", *(f"/{name}" for name in named)} == set(PATHS)


def test_a_narrow_page_has_links_at_its_bottom_and_marks_its_own() -> None:
    assert set(ON_PHONES) <= set(PATHS)
    assert re.findall(r'href="(\S+)" aria-current="page"', bottom_links("/trades")) == ["/trades"]


def preloaded(path: str) -> list[str]:
    return re.findall(r'<link rel="modulepreload" href="/assets/([^"]+)">', page_shell(path))


@pytest.mark.parametrize("path", PATHS)
def test_every_module_of_a_page_is_loaded_at_once_and_once(path: str) -> None:
    links = preloaded(path)
    assert len(links) == len(set(links))
    assert set(PATHS[path]) <= set(links)
    for name in set(links) - ROUTES:
        imported = re.findall(r'"\./(\S+\.js)"', (ASSETS / name).read_text())
        assert set(imported) <= set(links), name


def test_every_component_is_mounted_and_its_script_belongs_to_a_page() -> None:
    text = "".join(
        path.read_text() for room in ("panels", "pages", "page_parts") for path in (FOLDER / room).glob("*.py")
    )
    assert set(re.findall(r'own_component\("(\w+)"\)', text)) == set(COMPONENTS)
    scripts = {files.script for files in COMPONENTS.values()}
    assert scripts == {script for scripts in PATHS.values() for script in scripts}


def test_only_live_loads_the_charts_at_once() -> None:
    assert {path for path in PATHS if PLOT in page_shell(path)} == {"/"}


async def test_live_is_found_by_its_name(api: httpx.AsyncClient) -> None:
    for typed, page in (("/live", "/"), ("/live?asset=BTC&exchange=kraken", "/?asset=BTC&exchange=kraken")):
        answer = await api.get(typed)
        assert (answer.status_code, answer.headers["location"]) == (307, page)


async def test_what_a_page_names_is_there(api: httpx.AsyncClient) -> None:
    for path in PATHS:
        html = (await api.get(path)).text
        for file in re.findall(r'(?:href|src)="(/(?:assets|vendor)/[^"]+)"', html):
            assert (await api.get(file)).status_code == 200, file


def test_a_chain_has_each_module_once_even_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nimport {\n  c,\n} from "./c.js";\n')
    (tmp_path / "b.js").write_text('import "./a.js";\nexport { c } from "./c.js";\n')
    (tmp_path / "c.js").write_text('import { words } from "./made_by_the_server.js";\n')
    (tmp_path / "d.js").write_text("")
    assert module_chain(["a.js"], tmp_path) == ("a.js", "b.js", "c.js", "made_by_the_server.js")
