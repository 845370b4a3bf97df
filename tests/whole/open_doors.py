"""Who listens where in a running session, and what a stranger on the same machine gets there."""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.whole.running import ROOT, Running

NOBODY = 65_534
"""A user id that no process of the session has."""


@dataclass(frozen=True, slots=True, order=True)
class Door:
    """A listening socket; `part`: of the session, "supervisor" for the command itself."""

    part: str
    program: str
    address: str
    port: int = 0


def doors_of(home: Path) -> list[Door]:
    """Return the doors of every process that works in this data folder, children of Spark, Kafka and MongoDB
    included."""
    parts = {group: name for name, (group, _) in json.loads((home / "processes.json").read_text()).items()}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            if process.environ().get("ARBITRAGE_HOME") != str(home):
                continue
            part = parts.get(os.getpgid(process.pid), "supervisor")
            for connection in process.net_connections("inet"):
                if connection.status == psutil.CONN_LISTEN:
                    address = connection.laddr.ip.removeprefix("::ffff:")
                    found.append(Door(part, program_of(process.name()), address, connection.laddr.port))
    return found


def program_of(name: str) -> str:
    return re.sub(r"[\d.]+$", "", name)


def reported_doors() -> list[Door]:
    """Return the table of docs/security.md: one row a socket."""
    rows = re.findall(
        r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", (ROOT / "docs" / "security.md").read_text(), re.MULTILINE
    )
    return [Door(part, program, address) for part, program, address in rows]


def untold(found: Iterable[Door]) -> list[Door]:
    """Those that the table lacks, one by one: three sockets need three rows."""
    rows = reported_doors()
    lacking = []
    for door in found:
        row = Door(door.part, door.program, door.address)
        if row in rows:
            rows.remove(row)
        else:
            lacking.append(door)
    return lacking


def frames() -> list[bytes]:
    """Return what ends Spark's exchange between tasks, with each type of message, and no protocol's words at all."""
    credits = (struct.pack(">iq", kind, 0) + struct.pack(">iiii", 0, 1_000_000, 0, 0) for kind in range(6))
    bodies = [struct.pack(">bi", 9, len(body)) + body for body in credits]
    return [*(struct.pack(">q", 8 + len(body)) + body for body in bodies), os.urandom(4_096)]


def knock(door: Door) -> None:
    """Send each of them on a connection of its own, broken off rudely."""
    for frame in frames():
        with suppress(OSError), socket.create_connection((door.address, door.port), 5) as connection:
            connection.sendall(frame)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


STRANGER = textwrap.dedent(
    """
    import json, os, sys
    import pymongo, confluent_kafka, confluent_kafka.admin
    mongodb, kafka, database, home, user = sys.argv[1:]
    client = pymongo.MongoClient(mongodb, serverSelectionTimeoutMS=5_000)
    client.admin.command("hello")  # loads what is loaded late, while files may still be read
    os.setgroups([]); os.setgid(int(user)); os.setuid(int(user))

    def outcome(do):
        try:
            return "did it: " + str(do())[:100]
        except (pymongo.errors.PyMongoError, confluent_kafka.KafkaException, OSError) as error:
            return "rejected: " + str(error)[:200]

    settings = client[database]["settings"]
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka, "log_level": 0})
    print(json.dumps({
        "halt": outcome(lambda: settings.update_one({}, {"$set": {"trading_state": "halted"}})),
        "read": outcome(lambda: settings.find_one()),
        "make a user": outcome(lambda: client.admin.command("createUser", "me", pwd="me", roles=["root"])),
        "topics": outcome(lambda: admin.list_topics(timeout=3)),
        "files": outcome(lambda: os.listdir(home)),
        "logins": outcome(lambda: os.listdir(home + "/logins")),
    }))
    """
)


def tried_by_a_stranger(paper: Running) -> dict[str, str]:
    """Return what each try came to, as another user of this machine. Empty if we may not become one."""
    if os.geteuid() != 0:
        return {}
    session = paper.session
    words = (
        str(session.services.mongodb),
        str(session.services.kafka),
        session.services.database,
        str(session.home),
        str(NOBODY),
    )
    done = subprocess.run(
        (sys.executable, "-c", STRANGER, *words), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


def command_lines(home: Path) -> list[str]:
    """Return the command lines of all processes that work in this data folder, as every user of the machine sees
    them."""
    lines = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get("ARBITRAGE_HOME") == str(home):
                lines.append(" ".join(process.cmdline()))
    return lines
