"""A mongod for as long as a command needs it, on a data folder that no session runs in."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.setup.login_files import own_logins
from launch.setup.login_rights import SUPERVISOR
from launch.supervisor.failure_log import last_log_lines
from launch.supervisor.process_groups import ProcessSpec, spawn
from market.time_units import MICROSECONDS
from runtime.clock import steady_now, wall_now
from runtime.logins import Address
from store.errors import StoreError, StoreUnavailableError
from store.server.embedded_mongod import OPTIONS, EmbeddedMongod
from store.server.system_client import node_address
from streams.broker.embedded_broker import free_ports

NAME = "backup-mongodb"
START_SECONDS = 60.0
ATTEMPT_SECONDS = 2.0
STOP_SECONDS = 30.0
KEEPING = ("--setParameter", "ttlMonitorEnabled=false")
"""Settings so that nothing is deleted for its age while it is copied or compared."""


@contextmanager
def temporary_mongod(home: Path, database: str, *, as_node: bool = False) -> Iterator[Address]:
    """Return the address, with the login of the database's owner, or of the node itself, which may use all databases.

    Raises LaunchError if it does not start.
    """
    own, (port,) = own_logins(home), free_ports(1)
    users = own.database_users(database)
    mongod = EmbeddedMongod(home, port, (*OPTIONS, *KEEPING), key=own.mongodb_key, users=users)
    try:
        mongod.prepare()
        command = mongod.command()
    except StoreError as error:
        raise CannotStartError(str(error)) from error
    began, child = wall_now(), spawn(ProcessSpec(NAME, command), home / "logs" / f"{NAME}.log")
    try:
        _wait_ready(mongod, child, home, began)
        yield node_address(mongod.uri, own.mongodb_key) if as_node else Address(mongod.uri, own.login(SUPERVISOR))
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _wait_ready(mongod: EmbeddedMongod, child: "subprocess.Popen[bytes]", home: Path, began: int) -> None:
    deadline = steady_now() + int(START_SECONDS * MICROSECONDS)
    while True:
        try:
            asyncio.run(mongod.wait_ready(ATTEMPT_SECONDS))
            return
        except StoreUnavailableError as error:
            if child.poll() is not None or steady_now() > deadline:
                lines = last_log_lines(home / "logs", [NAME], began)
                raise LaunchError(f"MongoDB does not start on {mongod.folder}: {lines}") from error
        except StoreError as error:
            raise CannotStartError(str(error)) from error
