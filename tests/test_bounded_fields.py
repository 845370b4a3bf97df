"""No field that pydantic reads anywhere in the product takes a Decimal without a bound."""

import importlib
import pkgutil
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from market.decide.settings import Settings
from market.instruments.orders import Fill
from market.money import BoundedDecimal
from tests.house_rules import ROOMS

LEFT_OUT = ("ui.script", "remote.assistant.server")
"""One runs a page when it is imported; the other needs an extra."""
UNREAD = ("cls", "metadata", "function", "config", "serialization")
HUGE = ("1e-999999999", "1e50000000", "9" * 100_000)


def schemas() -> Iterator[tuple[str, Any]]:
    """Return what reads requests, files and documents: by the module and name that hold it."""
    names = [one.name for room in ROOMS for one in pkgutil.walk_packages([room], f"{room}.")]
    for name in (name for name in names if not name.startswith(LEFT_OUT)):
        for held, value in vars(importlib.import_module(name)).items():
            if isinstance(value, TypeAdapter):
                yield f"{name}.{held}", value.core_schema
            elif isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == name:
                yield f"{name}.{held}", value.__pydantic_core_schema__


def unbounded(node: object, place: str, *, is_bounded: bool = False) -> Iterator[str]:
    """Where a Decimal is read with nothing before it that bounds it."""
    if isinstance(node, dict):
        if node.get("type") == "decimal" and not is_bounded:
            yield place
        named = f"{place}.{node['name']}" if node.get("type") == "dataclass-field" else place
        for key, inner in node.items():
            if key not in UNREAD:
                yield from unbounded(inner, named, is_bounded=node.get("type") == "function-before")
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from unbounded(inner, place, is_bounded=is_bounded)


def test_every_field_of_money_is_bounded() -> None:
    assert sorted({place for name, schema in schemas() for place in unbounded(schema, name)}) == []


def test_the_look_finds_what_it_forbids() -> None:
    assert list(unbounded(TypeAdapter(list[Decimal]).core_schema, "one")) == ["one"]
    assert list(unbounded(TypeAdapter(BoundedDecimal).core_schema, "one")) == []


@pytest.mark.parametrize("huge", HUGE)
def test_settings_and_documents_reject_it_in_one_sentence(huge: str) -> None:
    adapter = TypeAdapter(Fill)
    for read in (
        lambda: Settings.model_validate({"enabled_exchanges": (), "max_notional": huge}),
        lambda: adapter.validate_python({"price": huge}),
    ):
        with pytest.raises(ValidationError) as rejected:
            read()
        (why,) = [one["msg"] for one in rejected.value.errors() if one["loc"][0] in ("max_notional", "price")]
        assert "out of bounds: write at most 40 digits" in why
        assert len(why) < 200


@pytest.mark.parametrize("tiny", [5e-324, -1e-31, "1e-31"])
def test_a_threshold_in_bps_is_bounded_as_well(tiny: object) -> None:
    with pytest.raises(ValidationError, match="out of bounds"):
        Settings.model_validate({"enabled_exchanges": (), "min_net_bps": tiny})
