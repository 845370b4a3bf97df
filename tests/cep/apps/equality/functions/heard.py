"""A processor with state, alarms that are moved, chance and an end."""

from typing import Any

from arbitrage.processors import ProcessorKey, processor


@processor(key="exchange", events=["quotes", "fills"])
class Heard:
    """Tells when an exchange was not heard of for a second, and when it is again."""

    def on_event(self, me: ProcessorKey, stream: str, row: dict[str, Any]) -> None:
        me.state[stream] = count = me.state.get(stream, 0) + 1
        if me.state.pop("is_silent", False):
            me.emit("Again", exchange=me.key, by=stream, chance=me.random())
        me.set_alarm("silent", seconds=1)
        if count % 40 == 0:
            me.set_alarm("over", seconds=3)

    def on_alarm(self, me: ProcessorKey, name: str) -> None:
        me.emit("Told", exchange=me.key, what=name, quotes=me.state.get("quotes", 0))
        if name == "over":
            me.retire()
        else:
            me.state["is_silent"] = True
