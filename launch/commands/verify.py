"""`arbitrage replay --verify`: recompute a recorded session from its folder and print the first difference, or none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from backtest.detect.detected_messages import detected
from backtest.verify.errors import CannotVerifyError
from backtest.verify.recorded_session import RecordedSession, open_session
from backtest.verify.session import Verified, verified
from cep.errors import CepCannotStartError
from launch.errors import CannotStartError
from launch.sessions.recorded_sessions import recorded_regions, recorded_session
from launch.sessions.recording import build_log
from launch.setup.data_dir import backtest_log
from launch.supervisor.ctrl_c import Stopping
from launch.supervisor.spark_command import quiet_session
from pricefeeds.recording.feed_recorder import recordings_folder
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.tick_set import TickSet

Echo = Callable[[str], None]
DeriveAt = Callable[[Path, TickSet], Iterable[tuple[str, int, bytes]]]


def derived_in_spark(home: Path, tick_set: TickSet) -> Iterator[tuple[str, int, bytes]]:
    """Return opportunities by the detection of backtests, with the settings of the log."""
    with quiet_session(home) as spark:
        found_df = detected(spark, tick_set, None).orderBy("base", "offset", "pair").select("base", "offset", "value")
        for row in found_df.toLocalIterator():
            yield row["base"], row["offset"], row["value"].encode()


def verify_session(
    home: Path, name: str, files: Sequence[Path], echo: Echo, derived: DeriveAt = derived_in_spark
) -> int:
    """Verify the session. Returns exit code 0 if nothing differs, 1 if something does. Raises CannotStartError if the
    session cannot be verified."""
    if files:
        raise CannotStartError(f"--verify takes one recorded session and no files; drop {files[0]}.")
    session, outcome = verified_session(home, name, derived, echo)
    for line in outcome_lines(session, outcome):
        echo(line)
    return 0 if outcome.difference is None else 1


def verified_session(home: Path, name: str, derived: DeriveAt, echo: Echo) -> tuple[RecordedSession, Verified]:
    """Return the session, the first of its regions', and what was verified. Raises CannotStartError."""
    try:
        session, *others = [_opened(folder) for folder in session_folders(home, name)]
        logs = f"the logs of its {len(others) + 1} regions" if others else "its log"
        echo(f"session {session.session_id}: verifying {logs}")
        with Stopping(backtest_log(home)):
            return session, verified(session, lambda tick_set: derived(home, tick_set), others)
    except (CannotVerifyError, ImportRejectedError, CepCannotStartError, LookupError) as error:
        raise CannotStartError(f"{str(error).rstrip('.')}.") from error
    except OSError as error:
        raise CannotStartError(f"{error.filename or name}: cannot be read ({error.strerror}).") from error


def session_folders(home: Path, name: str) -> list[Path]:
    """Return the folder itself, or those of the session with this id below the data folder: one, or one for each
    region."""
    if "/" in name or Path(name).is_dir():
        return [Path(name)]
    found = recorded_session(home, name)
    if found is None:
        raise CannotVerifyError(f"{recordings_folder(home)}: has no session {name}")
    return [*recorded_regions(home, name)] or [found]


def _opened(folder: Path) -> RecordedSession:
    build_log(folder / "log")
    return open_session(folder)


def outcome_lines(session: RecordedSession, outcome: Verified) -> list[str]:
    """Return what was verified, what could not be, and the result."""
    lines = [
        f"{count:,} {kind} not verifiable: recorded by an earlier version"
        for kind, count in sorted(outcome.older.items())
    ]
    if outcome.difference is not None:
        return [*lines, f"DIFFERENT: {outcome.difference}"]
    lines.append(f"{outcome.ticks:,} ticks equal to the feeds' own recordings; {outcome.steps:,} steps recomputed")
    cycles = (
        f"{outcome.cycles:,} cycles ({outcome.cycle_trades:,} traded), " if session.head.span.cycles is not None else ""
    )
    return [
        *lines,
        f"no difference: {outcome.opportunities:,} opportunities, {cycles}{outcome.rejections:,} rejections, "
        f"{outcome.arbitrages:,} arbitrages, {outcome.signals:,} signals verified",
    ]
