"""Texts with the values of a row in them."""

from urllib.parse import quote

import pytest

from cep.apps.ends.row_templates import row_template

VALUES = {"symbol": "BTC/USD", "n": 7, "price": 1.5, "hot": True, "none": None}


@pytest.mark.parametrize(
    ("text", "plain", "encoded"),
    [
        ("/all", "/all", "/all"),
        ("/orders/{{symbol}}", "/orders/BTC/USD", "/orders/BTC%2FUSD"),
        ("{{ n }}-{{price}}-{{hot}}", "7-1.5-true", "7-1.5-true"),
        ("", "", ""),
    ],
)
def test_columns_are_filled_in(text: str, plain: str, encoded: str) -> None:
    template = row_template(text, VALUES)
    assert template.filled(VALUES) == plain
    assert template.filled(VALUES, lambda value: quote(value, safe="")) == encoded


def test_a_null_fills_nothing_in() -> None:
    with pytest.raises(ValueError, match="'none' is null"):
        row_template("a{{none}}", VALUES).filled(VALUES)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{{other}}", "no column 'other'"), ("{{symbol", "write a column as"), ("{{a b}}", "write a column as")],
)
def test_other_braces_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        row_template(text, VALUES)
