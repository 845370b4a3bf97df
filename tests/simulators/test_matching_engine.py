"""The matching engine against a plain list of orders: same matches, nothing made or lost, never a crossed book."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Side
from simulators.matching.engine import BookOrder, MatchingBook
from simulators.matching.order_records import SelfTrade


@dataclass
class PlainOrder:
    name: str
    owner: str
    side: Side
    ticks: int
    lots: int


class PlainBook:
    """Every order in one list, oldest first; slow and obvious."""

    def __init__(self) -> None:
        self.orders: list[PlainOrder] = []

    def submit(self, order: PlainOrder, rests: bool, self_trade: SelfTrade) -> list[tuple[str, int, int]]:
        matches: list[tuple[str, int, int]] = []
        while order.lots:
            sign = 1 if order.side == "buy" else -1
            others = [o for o in self.orders if o.side != order.side and (order.ticks - o.ticks) * sign >= 0]
            if not others:
                break
            best = min(others, key=lambda o: o.ticks * sign)
            lots = min(best.lots, order.lots)
            if best.owner != order.owner:
                matches.append((best.name, best.ticks, lots))
                best.lots -= lots
                order.lots -= lots
            elif self_trade == "smaller":
                best.lots -= lots
                order.lots -= lots
            else:
                best.lots = best.lots if self_trade == "taker" else 0
                order.lots = order.lots if self_trade == "maker" else 0
            self.orders = [o for o in self.orders if o.lots]
        if rests and order.lots:
            self.orders.append(order)
        return matches


Command = tuple[Side, str, int, int, bool, int, SelfTrade]
commands = st.lists(
    st.tuples(
        st.sampled_from(("buy", "sell")),
        st.sampled_from(("a", "b", "c")),
        st.integers(95, 105),
        st.integers(1, 20),
        st.booleans(),
        st.integers(0, 30),
        st.sampled_from(("taker", "maker", "both", "smaller")),
    ),
    max_size=60,
)


@given(commands)
def test_matches_like_a_plain_list_of_orders(rows: list[Command]) -> None:
    book, plain = MatchingBook(), PlainBook()
    for number, (side, owner, ticks, lots, rests, cancelled, self_trade) in enumerate(rows):
        order = BookOrder(str(number), owner, side, ticks, lots, self_trade)
        fillable = book.fillable_lots(order)
        matches = [(m.maker.order_id, m.ticks, m.lots) for m in book.submit(order, rests)]
        assert matches == plain.submit(PlainOrder(str(number), owner, side, ticks, lots), rests, self_trade)
        assert sum(m[2] for m in matches) + sum(p.taker_lots for p in order.prevented) + order.lots == lots
        assert sum(m[2] for m in matches) == fillable
        assert book.cancel(str(cancelled)) == sum(o.lots for o in plain.orders if o.name == str(cancelled))
        plain.orders = [o for o in plain.orders if o.name != str(cancelled)]
        bid, ask = book.best("buy"), book.best("sell")
        assert bid is None or ask is None or bid < ask


@given(commands)
def test_changes_rebuild_the_book(rows: list[Command]) -> None:
    book = MatchingBook()
    copy: dict[tuple[Side, int], int] = {}
    for number, (side, owner, ticks, lots, rests, cancelled, self_trade) in enumerate(rows):
        book.submit(BookOrder(str(number), owner, side, ticks, lots, self_trade), rests)
        book.cancel(str(cancelled))
        for changed_side, changed_ticks, left in book.drain_changes():
            copy[(changed_side, changed_ticks)] = left
        sides: tuple[Side, ...] = ("buy", "sell")
        whole = {(s, t): left for s in sides for t, left in book.levels(s, 1_000)}
        assert whole == {key: left for key, left in copy.items() if left}
    assert book.drain_changes() == []


def test_the_order_that_came_first_goes_first() -> None:
    book = MatchingBook()
    for name, ticks in (("late and better", 99), ("first", 100), ("second", 100)):
        book.submit(BookOrder(name, "maker", "sell", ticks, 5), rests=True)
    matches = book.submit(BookOrder("taker", "me", "buy", 100, 12), rests=False)
    assert [(m.maker.order_id, m.ticks, m.lots) for m in matches] == [
        ("late and better", 99, 5),
        ("first", 100, 5),
        ("second", 100, 2),
    ]
    assert book.levels("sell", 5) == [(100, 3)]
