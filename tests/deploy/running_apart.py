"""Two regions that trade and a third that votes, their parts started one by one as docs/deployment.md says it: each
Kafka and each member of MongoDB takes TLS and a login alone, and each part has the login of its role."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from launch.commands.apart import MIRROR_FILE
from launch.commands.main import run
from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder, read_session, ready_file
from launch.setup.jars import mirror_classpath
from launch.setup.login_files import own_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import checked_java
from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from session.session import Session
from streams.broker.embedded_broker import free_ports
from tests.secured_services import members_address, secured_kafka, secured_members
from tests.tls_server import made_certificates
from tests.whole.running import COMMAND, ROOT, new_home, run_command
from tests.whole.running_regions import RunningRegions

EXCHANGES = ("coinbaseexchange", "kraken", "bitstamp")
"""Two in the region us, the third in eu."""
TRADING = ("us", "eu")
VOTING = "jp"
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 300, 120, 0.2


@dataclass(slots=True)
class Part:
    """A process of one region, in the data folder of that region."""

    name: str
    process: subprocess.Popen[str]
    log_path: Path

    @property
    def said(self) -> str:
        return self.log_path.read_text()

    @property
    def is_ready(self) -> bool:
        return ready_file(self.log_path.parent, self.name).exists()


@dataclass(slots=True)
class RegionsApart:
    made: Path
    """What `arbitrage apart make` wrote, a folder for each region."""
    parts: list[Part] = field(default_factory=list)

    def home_of(self, region: str) -> Path:
        return self.made / region

    def session_of(self, region: str) -> Session:
        return read_session(self.home_of(region))

    @property
    def regions(self) -> RunningRegions:
        """The same as a session of one command, which the simulated exchanges take the place of."""
        exchanges = next(part for part in self.parts if part.name == "exchanges")
        return RunningRegions(self.home_of(TRADING[0]), self.session_of(TRADING[0]).page.port, exchanges.process)

    def start(self, region: str, name: str, *command: str) -> None:
        self.parts.append(started(self.home_of(region), name, *command))

    def until(self, done: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
        deadline = steady_now() + int(seconds * MICROSECONDS)
        while not done():
            ended = [part for part in self.parts if part.process.poll() is not None]
            assert not ended, f"{ended[0].log_path} ended: {ended[0].said[-2_000:]}"
            assert steady_now() < deadline, f"not within {seconds} s: {what}"
            self.regions.pause(POLL_SECONDS)

    def stop_bots(self) -> list[int]:
        """Asks those of all regions to end. Returns their exit codes."""
        bots = [part for part in self.parts if part.name.startswith("bot-")]
        for bot in bots:
            bot.process.terminate()
        self.parts = [part for part in self.parts if part not in bots]
        return [bot.process.wait(STOP_SECONDS) for bot in bots]

    def kill(self) -> None:
        for part in self.parts:
            part.process.kill()
            part.process.wait()


def started(home: Path, name: str, *command: str) -> Part:
    path = home / f"{name}.out"
    with path.open("w") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=os.environ | {"ARBITRAGE_HOME": str(home)},
        )
    return Part(name, process, path)


def parts_of(session: Session) -> dict[str, tuple[str, ...]]:
    """Return the processes of a region, besides its servers and the exchanges. Only the first region has a page, since
    all pages would have one port here."""
    traded = {f"{kind}-{name}": (kind, name) for kind in ("feed", "bot") for name in session.exchanges_here}
    alone = ("publisher", "cep", *(("ui",) if session.place.region == TRADING[0] else ()))
    return traded | {name: (name,) for name in alone}


@contextmanager
def running_apart(folder: Path) -> Iterator[RegionsApart]:
    """All parts are started, and ready."""
    try:
        mirror_classpath(home_folder())
    except CannotStartError as reason:
        pytest.skip(str(reason))
    made, files = folder / "made", made_certificates(folder / "certificates", "db.example")
    owners = {region: own_logins(made / region, has_regions=True).login(SUPERVISOR) for region in TRADING}
    with ExitStack() as stack:
        kafkas = {name: stack.enter_context(secured_kafka(folder / f"kafka-{name}", owners[name])) for name in TRADING}
        ca = folder / "kafka-ca.pem"
        ca.write_text("".join(kafka.files.ca.read_text() for kafka in kafkas.values()))
        config = described(folder)
        places = {name: kafka.place("CLIENT") for name, kafka in kafkas.items()} | {VOTING: "127.0.0.1:1"}
        make(made, config, places, ca, files.ca)
        stack.enter_context(secured_members(folder / "mongodb", files, made))
        apart = RegionsApart(made)
        stack.callback(apart.kill)
        start_all(apart, config)
        yield apart


def described(folder: Path) -> Path:
    config, (port,) = folder / "arbitrage.toml", free_ports(1)
    config.write_text(
        f'mongodb = "{members_address((*TRADING, VOTING))}"\n'
        f'exchanges = {list(EXCHANGES)}\nmarket = "storm"\nport = {port}\n[settings]\nmax_open_arbitrages = 12\n'
    )
    return config


def make(made: Path, config: Path, kafkas: Mapping[str, str], kafka_ca: Path, mongodb_ca: Path) -> None:
    (port,) = free_ports(1)
    words = ["--config", str(config), "--exchanges", f"http://127.0.0.1:{port}"]
    words += ["--kafka-ca", str(kafka_ca), "--mongodb-ca", str(mongodb_ca), "--owner-mechanism", "SCRAM-SHA-256"]
    words += [word for region, place in kafkas.items() for word in ("--region", f"{region}={place}")]
    assert run(["apart", "make", str(made), *words]) == 0
    for region in TRADING:
        new_home(made / region)


def start_all(apart: RegionsApart, config: Path) -> None:
    """In the order of docker/compose-region.yaml."""
    apart.start(TRADING[0], "exchanges", *COMMAND, "exchanges", "--session")
    for region in TRADING:
        done = run_command(apart.home_of(region), "apart", "prepare", "--users", "--config", str(config), seconds=120)
        assert done.returncode == 0, done.stderr
    for region in TRADING:
        main = ("org.apache.kafka.connect.mirror.MirrorMaker", str(apart.home_of(region) / MIRROR_FILE))
        java = (checked_java(), "-Xmx192m", "-cp", mirror_classpath(home_folder()))
        apart.start(region, "mirror", *java, *main, "--clusters", region)
        for name, words in parts_of(apart.session_of(region)).items():
            apart.start(region, name, *COMMAND, *words)
    waiting = [part for part in apart.parts if part.name != "mirror"]
    apart.until(lambda: all(part.is_ready for part in waiting), "all parts are ready")
