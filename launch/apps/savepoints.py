"""Savepoints of apps: taken from the snapshots of a run, and what a run begins from."""

from pathlib import Path

from cep.apps.engine.savepoints import Savepoint, read_savepoint, savepoint_bytes
from cep.apps.engine.snapshots import SnapshotError
from cep.apps.errors import AppFailedError
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.resident.kernel import PlacedApp
from cep.snapshot_folder import SnapshotFolder
from launch.errors import CannotStartError
from runtime.clock import wall_now
from streams.mirrored_rows import unrepeated_rows

SNAPSHOTS = "*.snapshot"
LOOKS = 3


class NotYetSavedError(CannotStartError):
    """The run has written no snapshot yet, which it does every second; one sentence."""


def log_label(session_id: str, source: AppSource) -> str:
    """Return the name of an app's log, whose offsets mean something in one session alone."""
    return f"{session_id}:{source.topic}"


def taken_savepoint(source: AppSource, folder: Path, log: str) -> Savepoint:
    """Return the newest snapshots of all partitions; a run writes them every second. `folder`: the app's in the
    session. Raises NotYetSavedError if there is none."""
    snapshots = SnapshotFolder(folder)
    found = {int(path.stem): _whole(source, snapshots, int(path.stem)) for path in folder.glob(SNAPSHOTS)}
    parts = {partition: data for partition, data in sorted(found.items()) if data is not None}
    if not parts:
        problem = "has no snapshot in this session; run this text, and ask again in a moment"
        raise NotYetSavedError(f"{source.name}: {problem}.")
    return Savepoint(source.name, source.text, source.digest, log, wall_now(), parts)


def _whole(source: AppSource, snapshots: SnapshotFolder, partition: int) -> bytes | None:
    """Return the newest snapshot, with its keys. Raises NotYetSavedError, CannotStartError."""
    if not source.app.processors:
        return snapshots.load(partition)
    data = snapshots.load(partition)
    for _ in range(LOOKS):
        if data is None:
            return None
        app = HostedApp(source, partition, unrepeated_rows(source.region))
        try:
            app.restore(data, snapshots.segments(partition))
            return app.snapshot()
        except SnapshotError as error:
            tried, data = data, snapshots.load(partition)
            if data == tried:
                raise CannotStartError(f"{source.name}: {error}.") from error
            # its run has written a newer one meanwhile, and dropped what that does not need
        except AppFailedError as error:
            raise CannotStartError(f"{source.name}: {error}.") from error
    raise NotYetSavedError(f"{source.name}: its snapshot cannot be read; ask again in a moment.")


def write_savepoint(savepoint: Savepoint, path: Path) -> None:
    """Write it where nothing is. Raises CannotStartError."""
    try:
        with path.open("xb") as file:
            file.write(savepoint_bytes(savepoint))
    except FileExistsError:
        raise CannotStartError(f"{path}: is there already; give the savepoint another name.") from None
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be written ({error.strerror or error}).") from error


def savepoint_in(path: Path) -> Savepoint:
    """Raise CannotStartError if the file has none."""
    try:
        return read_savepoint(path.read_bytes())
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except SnapshotError as error:
        raise CannotStartError(f"{path}: {error}.") from error


def begin_from(savepoint: Savepoint, placed: PlacedApp, log: str) -> None:
    """Let the app's next run go on from the savepoint: where that was taken, if `log` is the same; else at the log's
    beginning, with what it had kept. Raises CannotStartError if it cannot."""
    source, partitions = placed.source, {partition for _, partition in placed.first}
    if savepoint.digest != source.digest:
        problem = f"the savepoint is of another text, --var or function of {savepoint.app!r}"
        raise CannotStartError(f"{source.name}: {problem}; run that, or leave --from out.")
    if source.host == "structured":
        raise CannotStartError(f"{source.name}: the structured host begins from no savepoint; leave @App:host out.")
    if set(savepoint.parts) != partitions:
        problem = f"the savepoint has {len(savepoint.parts)} partitions, and the session's log {len(partitions)}"
        raise CannotStartError(f"{source.name}: {problem}; start a session with as many.")
    is_same = savepoint.log == log
    if not is_same and any(placed.folder.glob(SNAPSHOTS)):
        problem = "has run in this session and goes on from there, so its rows would be given again with other values"
        raise CannotStartError(f"{source.name}: {problem}; begin from the savepoint in the next session.")
    folder = SnapshotFolder(placed.folder)
    try:
        parts = {part: data if is_same else _moved(placed, part, data) for part, data in savepoint.parts.items()}
    except SnapshotError as error:
        raise CannotStartError(f"{source.name}: {error}.") from error
    for partition, data in parts.items():
        folder.save(partition, data)


def _moved(placed: PlacedApp, partition: int, data: bytes) -> bytes:
    """Return the snapshot of an app with that state, at the beginning of its log. Raises SnapshotError."""
    app = HostedApp(placed.source, partition, unrepeated_rows(placed.region))
    app.restore(data, keeps_position=False)
    app.position = placed.first[placed.source.topic, partition]
    return app.snapshot()
