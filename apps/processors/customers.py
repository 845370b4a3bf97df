"""Two processors per customer: who is at risk, and who has bought for a hundred dollars."""

from typing import Any

from arbitrage.processors import ProcessorKey, processor

QUIET_DAYS = 7
MILESTONE_CENTS = 10_000


@processor(key="customer", events=["sign_in", "sale"])
class AtRisk:
    """Tells of a customer who has neither signed in nor bought for a week, once, until he is back."""

    def on_event(self, me: ProcessorKey, stream: str, row: dict[str, Any]) -> None:
        if me.state.pop("is_at_risk", False):
            me.emit("back", customer=me.key)
        me.state["last"] = stream
        me.set_alarm(days=QUIET_DAYS)

    def on_alarm(self, me: ProcessorKey, name: str) -> None:
        me.emit("at_risk", customer=me.key, last=me.state["last"])
        me.state["is_at_risk"] = True


@processor(key="customer", events=["sale"])
class Milestone:
    """Tells of each customer who has bought for a hundred dollars, and forgets him: his next hundred count again."""

    def on_event(self, me: ProcessorKey, stream: str, row: dict[str, Any]) -> None:
        me.state["cents"] = cents = me.state.get("cents", 0) + (row["cents"] or 0)
        me.state["sales"] = sales = me.state.get("sales", 0) + 1
        if cents >= MILESTONE_CENTS:
            me.emit("milestone", customer=me.key, cents=cents, sales=sales)
            me.retire()
