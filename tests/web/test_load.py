"""Two hundred who listen and two hundred requests a second: nobody is dropped, nothing is missed, memory is bounded.

With two cores the generator takes one of them and mongod, Kafka and the traffic share the other with the dashboard, so
the times are of a machine that is full: they are reported, and not held against anything.
"""

import asyncio

import psutil
import pytest

from tests.ui.serving import Served
from tests.ui.test_slow_sockets import silent
from tests.web.serving import Taken, load, report, reported, taken_by, traffic

CLIENTS = 200
REQUESTS = 200.0
PROBES = 10.0
"""Requests a second of a client that has nothing else to do: the generator's own times contain its own queue."""
GROWTH_MEGABYTES = 120
"""200 sockets with their buffers, requests that wait, and what the allocator keeps."""


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [15.0, 60.0])
def test_many_clients_and_requests_lose_nothing(dashboard: Served, seconds: float) -> None:
    with traffic(dashboard):
        taken = taken_by(dashboard)
        generator = load(dashboard, CLIENTS, REQUESTS, seconds)
        probe = load(dashboard, 1, PROBES, seconds)
        figures, probed = reported(generator, seconds + 120), reported(probe, seconds + 120)
        ours: dict[str, object] = {"ui_cores": round(taken.cores, 2), "ui_grown_mb": round(taken.grown_megabytes, 1)}
    trades = figures["trades"]
    assert isinstance(trades, list)
    ours |= {"probe_trade_ms": probed["trade_ms"], "probe_request_ms": probed["request_ms"]}
    report("load", {**figures, "trades": len(trades), "requests": REQUESTS * seconds, **ours})
    assert (figures["clients"], figures["dropped"], figures["out_of_order"]) == (CLIENTS, 0, 0)
    assert figures["statuses"] == {"200": REQUESTS * seconds}
    assert figures["snapshots"] == CLIENTS, "nobody fell behind"
    assert figures["trades_missed_by_some"] == []
    assert len(trades) >= seconds / 2
    assert taken.grown_megabytes < GROWTH_MEGABYTES
    assert "Traceback" not in dashboard.log


@pytest.mark.soak
def test_one_that_stops_reading_is_cut_off_and_the_rest_do_not_notice(dashboard: Served) -> None:
    with traffic(dashboard, quotes=600.0):
        taken = taken_by(dashboard)
        figures = asyncio.run(beside_one_that_stops(dashboard, taken))
    report("one client stops reading", {name: value for name, value in figures.items() if name != "trades"})
    assert (figures["dropped"], figures["snapshots"], figures["trades_missed_by_some"]) == (0, 20, [])
    assert "client cut off" in dashboard.log
    assert taken.grown_megabytes < GROWTH_MEGABYTES


async def beside_one_that_stops(dashboard: Served, taken: Taken) -> dict[str, object]:
    """Return what twenty others heard while one said hello and read nothing until its connection was broken off."""
    async with silent(dashboard.address, "ws/live"):
        generator = await asyncio.to_thread(load, dashboard, 20, 1.0, 60.0)
        figures = await asyncio.to_thread(reported, generator, 180.0)
    assert sockets(taken.process) == 0, "the broken one is gone as well as those that left"
    return figures


def sockets(process: psutil.Process) -> int:
    """How many clients it holds."""
    own = {connection.laddr.port for connection in process.net_connections("tcp") if connection.status == "LISTEN"}
    return sum(
        connection.status == "ESTABLISHED" and connection.laddr.port in own
        for connection in process.net_connections("tcp")
    )
