"""A mongod that forgets soon, and how to make it forget."""

from runtime.clock import SystemClock
from store.server.client import Client

# megabytes; and a checkpoint each second, because the oplog is truncated up to the last one only
SMALL_OPLOG = ("--oplogSize", "1", "--syncdelay", "1")


async def roll_oplog(client: Client) -> None:
    """Write until everything that is in the oplog by now has left it."""
    oplog = client["local"]["oplog.rs"]
    newest = await oplog.find_one(sort=[("$natural", -1)])
    assert newest is not None
    while await oplog.find_one({"ts": {"$lte": newest["ts"]}}) is not None:
        await client["filler"]["rows"].insert_many([{"filling": "x" * 100_000} for _ in range(20)])
        await SystemClock().sleep(0.05)
