"""The rules of the house hold, and each of them sees what it forbids."""

from pathlib import Path

import pytest

from tests.house_rules import LONGEST_FILE, LONGEST_FUNCTION, MOST_FILES, Module, broken, modules


def wrong(text: str, name: str = "market/some.py") -> bool:
    return broken([Module(Path(name), text)]) != []


def test_the_rules_hold_everywhere() -> None:
    assert broken(modules()) == []


@pytest.mark.parametrize(
    "text",
    [
        "now = time.time()",
        "await_it = asyncio.sleep(1)",
        "Decimal(text)",
        "decimal.Decimal(str(x))",
        "Decimal.from_float(x)",
        "EXACT.create_decimal(x)",
        "Decimal(value=1)",
        "sys.set_int_max_str_digits(0)",
        "try:\n    pass\nexcept Exception:\n    pass",
        "try:\n    pass\nexcept:\n    pass",
        "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION,
        "x = 1\n" * (LONGEST_FILE + 1),
    ],
)
def test_what_is_forbidden_is_seen(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize(
    "text",
    [
        "clock.sleep(1)",
        'Decimal("0.1")',
        "Decimal(10**9)",
        "Decimal(-1)",
        "number.to_decimal()",
        "list(map(decimal_of, rows))",
        "try:\n    pass\nexcept ValueError:\n    pass",
        "def f():\n" + "    x = 1\n" * (LONGEST_FUNCTION - 1),
    ],
)
def test_what_is_allowed_is_not(text: str) -> None:
    assert not wrong(text)


def test_money_and_the_app_engine_alone_make_decimals_of_texts() -> None:
    assert not wrong("Decimal(text)", "market/money.py")
    assert not wrong("Decimal(text)", "cep/apps/language/decimals.py")
    assert wrong("Decimal(text)", "cep/apps/parts/values.py")


def test_the_clock_alone_reads_time() -> None:
    assert not wrong("time.time()", "runtime/clock.py")


@pytest.mark.parametrize(
    ("first", "second", "is_wrong"),
    [
        (("market/a/orders.py", ""), ("bots/a/orders.py", ""), True),
        (("market/a/orders.py", ""), ("bots/b/orders.py", ""), False),
        (("market/a/errors.py", ""), ("bots/a/errors.py", ""), False),
        (("simulators/kraken/orders.py", ""), ("exchanges/kraken/orders.py", ""), False),
        (("market/a/one.py", "class Book: ..."), ("bots/a/two.py", "class Book: ..."), True),
        (("market/a/one.py", "class _Book: ..."), ("bots/a/two.py", "class _Book: ..."), False),
        (("market/a/one.py", "class Book: ..."), ("bots/a/two.py", "class Books: ..."), False),
    ],
)
def test_a_name_is_of_one_thing(first: tuple[str, str], second: tuple[str, str], *, is_wrong: bool) -> None:
    found = broken([Module(Path(name), text) for name, text in (first, second)])
    assert (found != []) is is_wrong


def test_a_folder_is_read_at_a_glance_and_lies_near() -> None:
    many = [Module(Path(f"market/trade/m{number}.py"), "") for number in range(MOST_FILES + 1)]
    assert broken(many[:-1]) == []
    assert broken(many) != []
    assert wrong("", "market/a/b/c/d.py")
