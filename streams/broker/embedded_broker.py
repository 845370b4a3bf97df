"""The embedded Kafka broker: one node, broker and controller at once, on loopback, its data below the data folder.
That of a region listens at the region's address too, where MirrorMakers of other regions read.

Clients log in with SCRAM, which reveals no password to another process that listens on the port while the broker is
down; the owner's is written into the log when that is formatted. Only the broker's own process uses the controller.
"""

import base64
import hashlib
import shlex
import shutil
import socket
import subprocess
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now, wall_now
from runtime.logins import Login
from streams.broker.java_files import LOGGING_PROPERTIES, argument_file, property_file, write_privately
from streams.broker.kafka_users import jaas_of
from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.topic_admin import check_reachable

FORMAT_SECONDS = 120.0
POLL_SECONDS = 0.05
JVM_FLAGS = (
    # what is alive stays below 50 MB; taken at the start, so that the broker does not grow for an hour
    *("-Xms80m", "-Xmx80m", "-Xmn18m", "-XX:+AlwaysPreTouch"),
    # else loading classes alone collects the whole heap, twice at each start
    "-XX:MetaspaceSize=64m",
    # few cores: no second compiler, one collector thread
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"),
    # Java's own classes stay pages of their file, which all JVMs share; moved elsewhere, as by default, they do not
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0"),
    # another Java may not know a diagnostic option
    "-XX:+IgnoreUnrecognizedVMOptions",
)
RETAINED_BYTES = 2 * 1024**3
LOOPBACK = "127.0.0.1"
CONTROLLER = "controller"
ASIDE = "kafka-"
ASIDE_DAYS = 2
"""Days until a log that was set aside is deleted: Kafka itself would have deleted its rows by then."""
DAY = 86_400 * MICROSECONDS
REGION = "REGION"
"""Name of the listener at a region's address."""
OWNER_FILE = "owner"
"""In the broker's folder: identifies the owner whose password is in the log."""


@dataclass(frozen=True, slots=True)
class EmbeddedBroker:
    """How to run the broker; the caller owns the process. The same ports may be used again after a crash."""

    home: Path
    classpath: str
    port: int
    controller_port: int
    owner: Login
    """The owner's login: it has all rights and creates the other users."""
    controller_password: str = field(repr=False)
    java: str = "java"
    region_address: str | None = None
    """host:port of this machine, in a network namespace or not, at which it listens besides loopback, with the same
    logins; Kafka wants a port of its own for it. There is no TLS: name none that others reach."""

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def folder(self) -> Path:
        return self.home / "kafka"

    def prepare(self) -> Path | None:
        """Write the configuration and format the data folder once (about 1 s; a second time 1 ms).

        Returns the new path of a log that was set aside because it has another owner or none.
        Raises StreamRejectedError if the folder cannot be used.
        """
        drop_old_asides(self.home, wall_now())
        aside = self._set_aside()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_privately(self._server_file, self._server_properties())
        self._logging_file.write_text(LOGGING_PROPERTIES)
        self._java_file.write_text(argument_file(self._java_arguments()))
        if not (self.folder / "log" / "meta.properties").exists():
            self._format()
        return aside

    def _set_aside(self) -> Path | None:
        """Move away a log made with another owner's password, which could not be opened; return where it is."""
        there, known = self.folder / "log" / "meta.properties", self.folder / OWNER_FILE
        if not there.exists() or (known.exists() and known.read_text() == self._owner_mark()):
            return None
        aside = self.home / f"{ASIDE}{wall_now()}"
        self.folder.replace(aside)
        return aside

    def _owner_mark(self) -> str:
        return hashlib.sha256(f"{self.owner.user} {self.owner.password}".encode()).hexdigest()

    def _server_properties(self) -> str:
        login = (self.owner, self.controller_password)
        return server_properties(self.folder / "log", self.port, self.controller_port, *login, self.region_address)

    def command(self) -> tuple[str, ...]:
        """Return the broker in the foreground; its log (warnings) goes to standard output. SIGTERM stops it cleanly."""
        return (self.java, f"@{self._java_file}", "kafka.Kafka", str(self._server_file))

    @property
    def _server_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _logging_file(self) -> Path:
        return self.folder / "log4j2.properties"

    @property
    def _java_file(self) -> Path:
        return self.folder / "java.arguments"

    def _java_arguments(self) -> tuple[str, ...]:
        return (*JVM_FLAGS, f"-Dlog4j2.configurationFile={self._logging_file}", "-cp", self.classpath)

    def _format(self) -> None:
        scram = f"SCRAM-SHA-256=[name={self.owner.user},password={self.owner.password}]"
        tool = ("kafka.tools.StorageTool", "format", "--ignore-formatted", "--add-scram", scram)
        words = (*self._java_arguments(), *tool, "-t", _cluster_id(), "-c", str(self._server_file))
        # in a file, since other users can see the command line
        arguments = self.folder / "format.arguments"
        write_privately(arguments, argument_file(words))
        command = (self.java, f"@{arguments}")
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FORMAT_SECONDS)
            write_privately(self.folder / OWNER_FILE, self._owner_mark())
        except OSError as error:
            raise StreamRejectedError(f"{self.java} cannot be run ({error.strerror}).") from error
        except subprocess.TimeoutExpired as error:
            raise StreamRejectedError(f"formatting {self.folder} took longer than {FORMAT_SECONDS:.0f} s.") from error
        finally:
            arguments.unlink(missing_ok=True)
        if done.returncode != 0:
            last = (done.stderr + done.stdout).strip().splitlines()[-1:]
            raise StreamRejectedError(f"{self.folder} could not be formatted for Kafka: {shlex.join(last)}.")


def drop_old_asides(home: Path, now: int) -> None:
    """Delete logs that were set aside more than a day ago."""
    for folder in home.glob(f"{ASIDE}*"):
        set_aside = folder.name.removeprefix(ASIDE)
        if set_aside.isdecimal() and now - int(set_aside) >= ASIDE_DAYS * DAY:
            shutil.rmtree(folder, ignore_errors=True)


async def wait_ready(address: str, seconds: float) -> None:
    """Return once Kafka answers a metadata request. Raises StreamUnavailableError after `seconds`."""
    deadline = steady_now() + int(seconds * MICROSECONDS)
    while True:
        left = (deadline - steady_now()) / MICROSECONDS
        try:
            await check_reachable(address, max(0.1, min(left, 2.0)))
        except StreamUnavailableError:
            if steady_now() >= deadline:
                raise
            await SystemClock().sleep(POLL_SECONDS)
        else:
            return


def free_ports(count: int) -> tuple[int, ...]:
    """Free loopback ports, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return tuple(each.getsockname()[1] for each in sockets)


def login_properties(owner: Login, controller_password: str) -> dict[str, str]:
    """Return authentication and access rights: users have only their listed rights, the owner and the node itself
    have all."""
    asked = f'username="{CONTROLLER}" password="{controller_password}" user_{CONTROLLER}="{controller_password}"'
    plain = f"org.apache.kafka.common.security.plain.PlainLoginModule required {asked};"
    return {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        "listener.name.client.scram-sha-256.sasl.jaas.config": jaas_of(owner),
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{owner.user};User:{CONTROLLER}",
    }


def region_properties(owner: Login) -> dict[str, str]:
    """Return the logins of a second listener for clients."""
    return {
        "listener.security.protocol.map": f"CLIENT:SASL_PLAINTEXT,{REGION}:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        f"listener.name.{REGION.lower()}.scram-sha-256.sasl.jaas.config": jaas_of(owner),
    }


NODE_SETTINGS = {
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.hours": "24",
    "log.retention.bytes": str(RETAINED_BYTES),
    "log.segment.bytes": str(128 * 1024**2),
    "log.retention.check.interval.ms": "60000",
    # the cleaner's default buffer of 128 MB is more than our heap, and only small topics are compacted
    "log.cleaner.dedupe.buffer.size": str(4 * 1024**2),
    "metadata.log.segment.bytes": str(8 * 1024**2),
    "metadata.max.retention.bytes": str(32 * 1024**2),
    # a record twice a second, each flushed to the disk, that only shows watchers that there is a controller
    "metadata.max.idle.interval.ms": "0",
    # after a kill the restarted broker is rejected until the killed one's session has expired: 3 s, not 9
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "2",
}
"""One node that keeps at most a day or 2 GB of each partition (kafka.apache.org, "Broker Configs")."""


def server_properties(
    data: Path,
    port: int,
    controller_port: int,
    owner: Login,
    controller_password: str,
    region_address: str | None = None,
) -> str:
    """Return the text of Kafka's configuration. Each client gets the address of the listener that it came to."""
    clients = f"CLIENT://{LOOPBACK}:{port}"
    logins = login_properties(owner, controller_password)
    if region_address is not None:
        clients += f",{REGION}://{region_address}"
        logins |= region_properties(owner)
    settings = (
        logins
        | NODE_SETTINGS
        | {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
            "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{controller_port}",
            "advertised.listeners": clients,
            "inter.broker.listener.name": "CLIENT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(data),
        }
    )
    return property_file(settings)


def _cluster_id() -> str:
    """Return a uuid in Kafka's format: 22 characters of URL-safe base 64, not beginning with a dash (an option to its
    tool)."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return text
