"""What an assistant can read beside the session: the documentation's pages, and the settings with their ranges."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from market.decide.settings import Settings
from ui.services.settings_bounds import bounds_of
from ui.services.settings_fields import FIRST, TOPICS, setting_label

FOLDER = Path(__file__).with_name("pages")
"""Links to the documentation, so that it is where the package is."""
NOT_SET = ("version", "market_rules", "close_now")
"""What nobody sets by hand."""


def page_names() -> tuple[str, ...]:
    """Return the names of the documentation's pages, such as `risk`; those of stream apps begin with `apps-`."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))


def page_text(name: str) -> str:
    """Return a page as Markdown. Raises KeyError if there is none of that name."""
    if name not in page_names():
        raise KeyError(name)
    return (FOLDER / f"{name}.md").read_text()


def page_title(name: str) -> str:
    """Return a page's heading."""
    return page_text(name).partition("\n")[0].lstrip("# ")


def settings_with_ranges(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each setting with its value, what it means, its unit and what it may be."""
    fields = {field.name: field for group in (FIRST, *TOPICS) for field in group.fields}
    rows = []
    for name in Settings.model_fields:
        if name in NOT_SET:
            continue
        field = fields.get(name)
        bounds = bounds_of(name)
        rows.append(
            {
                "name": name,
                "value": values.get(name),
                "label": setting_label(name),
                "unit": None if field is None else field.unit,
                "range": bounds.words("") or None,
                "choices": None if field is None else list(field.choices) or None,
            }
        )
    return rows
