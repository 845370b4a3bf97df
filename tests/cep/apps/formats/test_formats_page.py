"""The page of formats names what there is."""

from pathlib import Path

import pytest

from cep.apps.formats.log_patterns import LOG_PATTERNS
from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import reader, writer

PAGE = (Path(__file__).parents[4] / "docs" / "apps" / "formats.md").read_text()
TYPES = ("json", "xml", "csv", "text", "keyvalue", "avro", "protobuf", "raw")


@pytest.mark.parametrize("make", [reader, writer])
def test_every_format_is_on_the_page_and_no_other_is_known(make: object) -> None:
    assert callable(make)
    with pytest.raises(AppUnsupportedError, match=f"map type 'yaml-ish' is not known; there are {', '.join(TYPES)}"):
        make("type='yaml-ish'")
    assert all(f"`{name}`" in PAGE for name in TYPES)


@pytest.mark.parametrize("name", LOG_PATTERNS)
def test_every_known_pattern_is_on_the_page_with_its_columns(name: str) -> None:
    (line,) = [one for one in PAGE.splitlines() if one.startswith(f"| `{name}`")]
    groups = LOG_PATTERNS[name].split("(?P<")[1:]
    columns = {one.partition(">")[0] for one in groups}
    if name == "combined":
        columns -= {one.partition(">")[0] for one in LOG_PATTERNS["common"].split("(?P<")[1:]}
    assert all(column in line for column in columns)
