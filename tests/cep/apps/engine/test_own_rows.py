"""Steps of patterns and sequences that look at their own rows and at those of other steps, over prices that rise, fall
and do both: the rows that Siddhi 5.1.30 gave, as it was run."""

import pytest

from tests.cep.apps.engine.small_apps import Event, Rows, check

PRICES = {
    "rising": [1, 2, 3, 4, 5, 6],
    "falling": [10, 8, 5, 4, 2, 1],
    "zigzag": [10, 8, 5, 4, 7, 9, 9, 12, 11, 3, 5, 6, 2, 8, 7, 7, 10, 1],
}
PRICED = "define stream P (p double);\n"
OWN_ROWS: list[tuple[str, dict[str, Rows]]] = [
    (
        "every low=P, up=P[(up[last].p is null and p >= low.p) or p >= up[last].p]+, down=P[p < up[last].p] "
        "select low.p as low, up[0].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [],
            "zigzag": [
                (9, 4.0, 7.0, 12.0, 11.0),
                (13, 3.0, 5.0, 6.0, 2.0),
                (15, 2.0, 8.0, 8.0, 7.0),
                (18, 7.0, 7.0, 10.0, 1.0),
            ],
        },
    ),
    (
        "every low=P, up=P[up[last-1].p is null or p > up[last-1].p]+, down=P[p < up[last].p] select low.p "
        "as low, up[0].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [(3, 10.0, 8.0, 8.0, 5.0), (5, 5.0, 4.0, 4.0, 2.0)],
            "zigzag": [
                (3, 10.0, 8.0, 8.0, 5.0),
                (9, 5.0, 4.0, 12.0, 11.0),
                (13, 11.0, 3.0, 6.0, 2.0),
                (15, 2.0, 8.0, 8.0, 7.0),
                (18, 7.0, 7.0, 10.0, 1.0),
            ],
        },
    ),
    (
        "every low=P, up=P[up[1].p is null or p > up[1].p]+, down=P[p < up[0].p] select low.p as low, "
        "up[0].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [(3, 10.0, 8.0, 8.0, 5.0), (5, 5.0, 4.0, 4.0, 2.0)],
            "zigzag": [
                (3, 10.0, 8.0, 8.0, 5.0),
                (9, 9.0, 12.0, 12.0, 11.0),
                (13, 5.0, 6.0, 6.0, 2.0),
                (15, 2.0, 8.0, 8.0, 7.0),
            ],
        },
    ),
    (
        "every low=P, up=P[p > low.p and (up[last].p is null or p > up[last].p)]*, down=P[p < low.p] select "
        "low.p as low, up[0].p as first, up[last-1].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [
                (2, 10.0, None, None, 8.0),
                (3, 8.0, None, None, 5.0),
                (4, 5.0, None, None, 4.0),
                (5, 4.0, None, None, 2.0),
                (6, 2.0, None, None, 1.0),
            ],
            "zigzag": [
                (2, 10.0, None, None, 8.0),
                (3, 8.0, None, None, 5.0),
                (4, 5.0, None, None, 4.0),
                (10, 11.0, None, None, 3.0),
                (13, 3.0, 5.0, 5.0, 2.0),
                (18, 7.0, 10.0, None, 1.0),
            ],
        },
    ),
    (
        "every up=P[(up[last].p is null or p > up[last].p)]+, down=P[p < up[last].p] select up[0].p as low, "
        "up[1].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [(2, 10.0, None, 10.0, 8.0), (4, 5.0, None, 5.0, 4.0), (6, 2.0, None, 2.0, 1.0)],
            "zigzag": [
                (2, 10.0, None, 10.0, 8.0),
                (4, 5.0, None, 5.0, 4.0),
                (9, 12.0, None, 12.0, 11.0),
                (13, 3.0, 5.0, 6.0, 2.0),
                (15, 8.0, None, 8.0, 7.0),
                (18, 7.0, 10.0, 10.0, 1.0),
            ],
        },
    ),
    (
        "up=P[(up[last].p is null or p > up[last].p)]<2:5> -> down=P[p < up[last].p] select up[0].p as low, "
        "up[1].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [],
            "zigzag": [(9, 10.0, 12.0, 12.0, 11.0)],
        },
    ),
    (
        "every low=P -> up=P[(up[last].p is null or p > up[last].p)]<2:3> -> down=P[p < low.p] select low.p "
        "as low, up[0].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [],
            "zigzag": [
                (7, 10.0, 8.0, 9.0, 9.0),
                (10, 8.0, 5.0, 9.0, 3.0),
                (10, 5.0, 4.0, 9.0, 3.0),
                (10, 4.0, 7.0, 12.0, 3.0),
                (10, 7.0, 9.0, 12.0, 3.0),
                (10, 9.0, 9.0, 12.0, 3.0),
                (12, 11.0, 3.0, 5.0, 6.0),
                (13, 3.0, 5.0, 6.0, 2.0),
                (18, 5.0, 6.0, 10.0, 1.0),
                (18, 6.0, 2.0, 10.0, 1.0),
                (18, 2.0, 8.0, 10.0, 1.0),
                (18, 8.0, 7.0, 10.0, 1.0),
                (18, 7.0, 7.0, 10.0, 1.0),
            ],
        },
    ),
    (
        "every low=P -> up=P[up[last-1].p is null or p > up[last-1].p]<2:3> -> down=P[p < low.p] select "
        "low.p as low, up[0].p as first, up[last].p as peak, down.p as down",
        {
            "rising": [],
            "falling": [(4, 10.0, 8.0, 5.0, 4.0), (5, 8.0, 5.0, 4.0, 2.0), (6, 5.0, 4.0, 2.0, 1.0)],
            "zigzag": [
                (4, 10.0, 8.0, 5.0, 4.0),
                (5, 8.0, 5.0, 4.0, 7.0),
                (10, 5.0, 4.0, 9.0, 3.0),
                (10, 4.0, 7.0, 9.0, 3.0),
                (10, 7.0, 9.0, 12.0, 3.0),
                (10, 9.0, 9.0, 11.0, 3.0),
                (10, 9.0, 12.0, 11.0, 3.0),
                (11, 12.0, 11.0, 3.0, 5.0),
                (12, 11.0, 3.0, 5.0, 6.0),
                (13, 3.0, 5.0, 6.0, 2.0),
                (18, 5.0, 6.0, 8.0, 1.0),
                (18, 6.0, 2.0, 7.0, 1.0),
                (18, 2.0, 8.0, 10.0, 1.0),
                (18, 8.0, 7.0, 10.0, 1.0),
                (18, 7.0, 7.0, 10.0, 1.0),
            ],
        },
    ),
    (
        "every low=P -> up=P[up[0].p > low.p]<2> select low.p as low, up[0].p as first, up[last].p as peak, "
        "low.p as down",
        {
            "rising": [
                (3, 1.0, 2.0, 3.0, 1.0),
                (4, 2.0, 3.0, 4.0, 2.0),
                (5, 3.0, 4.0, 5.0, 3.0),
                (6, 4.0, 5.0, 6.0, 4.0),
            ],
            "falling": [],
            "zigzag": [
                (6, 5.0, 7.0, 9.0, 5.0),
                (6, 4.0, 7.0, 9.0, 4.0),
                (7, 8.0, 9.0, 9.0, 8.0),
                (7, 7.0, 9.0, 9.0, 7.0),
                (9, 10.0, 12.0, 11.0, 10.0),
                (9, 9.0, 12.0, 11.0, 9.0),
                (9, 9.0, 12.0, 11.0, 9.0),
                (12, 3.0, 5.0, 6.0, 3.0),
                (13, 5.0, 6.0, 2.0, 5.0),
                (15, 6.0, 8.0, 7.0, 6.0),
                (15, 2.0, 8.0, 7.0, 2.0),
                (18, 8.0, 10.0, 1.0, 8.0),
                (18, 7.0, 10.0, 1.0, 7.0),
                (18, 7.0, 10.0, 1.0, 7.0),
            ],
        },
    ),
    (
        "every low=P -> up=P[up[last].p > low.p] select low.p as low, up.p as first, up.p as peak, low.p as down",
        {
            "rising": [],
            "falling": [],
            "zigzag": [],
        },
    ),
    (
        "every low=P, up=P[up[1].p is null and p > low.p] select low.p as low, up.p as first, up.p as peak, "
        "low.p as down",
        {
            "rising": [
                (2, 1.0, 2.0, 2.0, 1.0),
                (3, 2.0, 3.0, 3.0, 2.0),
                (4, 3.0, 4.0, 4.0, 3.0),
                (5, 4.0, 5.0, 5.0, 4.0),
                (6, 5.0, 6.0, 6.0, 5.0),
            ],
            "falling": [],
            "zigzag": [
                (5, 4.0, 7.0, 7.0, 4.0),
                (6, 7.0, 9.0, 9.0, 7.0),
                (8, 9.0, 12.0, 12.0, 9.0),
                (11, 3.0, 5.0, 5.0, 3.0),
                (12, 5.0, 6.0, 6.0, 5.0),
                (14, 2.0, 8.0, 8.0, 2.0),
                (17, 7.0, 10.0, 10.0, 7.0),
            ],
        },
    ),
    (
        "every low=P<2:3> -> up=P[p > low.p] select low[0].p as low, low[last].p as first, up.p as peak, up.p as down",
        {
            "rising": [(3, 1.0, 2.0, 3.0, 3.0), (5, 3.0, 4.0, 5.0, 5.0)],
            "falling": [],
            "zigzag": [
                (5, 10.0, 5.0, 7.0, 7.0),
                (5, 5.0, 4.0, 7.0, 7.0),
                (8, 7.0, 9.0, 12.0, 12.0),
                (11, 11.0, 3.0, 5.0, 5.0),
                (14, 5.0, 2.0, 8.0, 8.0),
                (17, 2.0, 7.0, 10.0, 10.0),
                (17, 7.0, 7.0, 10.0, 10.0),
            ],
        },
    ),
    (
        "every low=P<2:3> -> up=P[p > low[last-1].p] select low[0].p as low, low[last].p as first, up.p as "
        "peak, up.p as down",
        {
            "rising": [(3, 1.0, 2.0, 3.0, 3.0), (5, 3.0, 4.0, 5.0, 5.0)],
            "falling": [],
            "zigzag": [
                (5, 5.0, 4.0, 7.0, 7.0),
                (6, 10.0, 5.0, 9.0, 9.0),
                (7, 7.0, 9.0, 9.0, 9.0),
                (9, 9.0, 12.0, 11.0, 11.0),
                (12, 11.0, 5.0, 6.0, 6.0),
                (14, 5.0, 2.0, 8.0, 8.0),
                (15, 2.0, 8.0, 7.0, 7.0),
                (17, 7.0, 7.0, 10.0, 10.0),
            ],
        },
    ),
]


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("steps", "expected"), OWN_ROWS)
def test_a_step_looks_at_the_rows_that_it_has(steps: str, expected: dict[str, Rows], prices: str) -> None:
    events: list[Event] = [(place + 1, "P", (float(price),)) for place, price in enumerate(PRICES[prices])]
    check(f"{PRICED}from {steps} insert into O;", events, expected[prices])
