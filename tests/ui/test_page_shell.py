"""Streamlit's HTML file with our title, icon and server, at the path of each page."""

import ast

from ui.pages.page_shell import ICON, OURS, PATHS, STREAMLIT, page_shell
from ui.server.application import FOLDER, SCRIPT


def test_it_is_the_file_of_streamlit_in_all_but_our_three_places() -> None:
    shell = page_shell()
    for theirs, ours in OURS.items():
        assert shell.count(ours) == 1
        shell = shell.replace(ours, theirs)
    assert shell == STREAMLIT.read_text()


def test_its_icon_is_a_file_of_ours() -> None:
    assert (FOLDER / ICON.lstrip("/")).read_text().startswith("<svg")


def test_it_stands_at_every_page_that_the_script_names() -> None:
    calls = (node for node in ast.walk(ast.parse(SCRIPT.read_text())) if isinstance(node, ast.keyword))
    named = {ast.literal_eval(node.value) for node in calls if node.arg == "url_path"}
    assert {"/", *(f"/{name}" for name in named)} == set(PATHS)
