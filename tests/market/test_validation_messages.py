"""A fault in what somebody gave is said in plain words, and never in those of a library."""

from decimal import Decimal
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from market.decide.settings import Settings
from market.money import BoundedDecimal
from market.validation_messages import error_text

WRONG: tuple[object, ...] = (None, True, [], {}, "", "x" * 300, "abc", 1e300, -1e300, 1.5, float("inf"), b"\xff", "1.5")


class Form(BaseModel):
    """One field of each kind."""

    model_config = ConfigDict(extra="forbid")

    whole: int = Field(default=1, ge=1, le=86_400_000)
    bps: float = Field(default=1.0, gt=-1, lt=10_000, allow_inf_nan=False)
    money: Annotated[BoundedDecimal, Field(gt=0, le=Decimal("0.1"))] = Decimal("0.05")
    state: Literal["running", "halted"] = "running"
    text: str = Field(default="a", min_length=1, max_length=200)
    name: str = Field(default="a", pattern="^[a-z]+$")
    names: tuple[str, ...] = Field(default=(), max_length=2)
    is_on: bool = False
    fees: dict[str, int] = Field(default_factory=dict)


def rejected(values: object, model: type[BaseModel] = Form) -> str:
    with pytest.raises(ValidationError) as error:
        model.model_validate(values)
    return error_text(error.value, "the form")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"whole": 86_400_001}, "whole: must be at most 86,400,000"),
        ({"whole": 0}, "whole: must be at least 1"),
        ({"whole": 1.5}, "whole: must be a whole number"),
        ({"bps": "high"}, "bps: must be a number"),
        ({"bps": -1}, "bps: must be more than -1"),
        ({"bps": 10_000}, "bps: must be less than 10,000"),
        ({"bps": float("nan")}, "bps: must be a finite number"),
        ({"money": "1"}, "money: must be at most 0.1"),
        ({"money": "1e99"}, "money: '1e99' is out of bounds"),
        ({"state": "haltd"}, "state: must be 'running' or 'halted'"),
        ({"text": ""}, "text: must be at least 1 characters long"),
        ({"name": "A"}, "name: must have the form ^[a-z]+$"),
        ({"names": ("a", "b", "c")}, "names: must have at most 2 entries"),
        ({"is_on": "perhaps"}, "is_on: must be true or false"),
        ({"fees": 1}, "fees: must be a table of names and values"),
        ({"colour": 1, "whole": 0}, "whole: must be at least 1; colour: there is no such setting"),
        (7, "the form: must be a table of names and values"),
    ],
)
def test_it_is_said_plainly(values: object, sentence: str) -> None:
    assert rejected(values).startswith(sentence)


@pytest.mark.parametrize("model", [Form, Settings])
def test_no_field_says_it_in_a_librarys_words(model: type[BaseModel]) -> None:
    said = []
    for name in model.model_fields:
        for value in WRONG:
            try:
                model.model_validate({"enabled_exchanges": (), "taker_fees": {}, name: value})
            except ValidationError as error:
                said += [fault["type"] for fault in error.errors() if name in fault["loc"]]
                text = error_text(error, "it")
                assert not any(words in text for words in ("Input", "should", "Value error", "valid", "{"))
    assert len(set(said)) > 3
