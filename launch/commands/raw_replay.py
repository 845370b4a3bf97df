"""`arbitrage raw-replay`, the raw replay: recorded messages through today's feed code, and the rows compared."""

from collections.abc import Callable
from pathlib import Path

from launch.errors import CannotStartError
from pricefeeds.raw_replay import RawReplay, ReplayDifference, replay_raw
from pricefeeds.recording.feed_recording import read_recording, recorded_folders
from tick_sets.errors import ImportRejectedError

Echo = Callable[[str], None]


def raw_replay_folder(folder: Path, echo: Echo) -> int:
    """Replay every exchange recorded at or below `folder`; exit code 1 if a row differs. Raises CannotStartError."""
    differs = False
    try:
        for exchange_folder in recorded_folders(folder):
            outcome = replay_raw(read_recording(exchange_folder))
            if not outcome.events:
                raise CannotStartError(
                    f"{exchange_folder}: its files hold no complete line, so there is nothing to replay."
                )
            differs |= outcome.difference is not None
            for line in outcome_lines(outcome):
                echo(line)
    except ImportRejectedError as error:
        raise CannotStartError(f"{error}.") from error
    return 1 if differs else 0


def outcome_lines(outcome: RawReplay) -> list[str]:
    """Return counts, identical rows, truncated files, and the first difference."""
    frames, answers = outcome.events.get("frame", 0), outcome.events.get("snapshot", 0)
    rows = ", ".join(f"{symbol} {count:,}" for symbol, count in sorted(outcome.equal_rows.items())) or "none"
    lines = [
        f"{outcome.exchange}: {frames:,} messages and {answers:,} REST responses in {outcome.files} files, "
        f"{outcome.rejected_messages:,} rejected; identical rows: {rows}"
    ]
    lines += [f"  {name} is truncated; read up to its last complete line" for name in outcome.cut]
    if outcome.difference is not None:
        lines += _difference_lines(outcome.difference)
    return lines


def _difference_lines(difference: ReplayDifference) -> list[str]:
    recorded, replayed = (
        "no row" if row is None else row.decode(errors="replace") for row in (difference.recorded, difference.replayed)
    )
    return [
        f"  DIFFERENT: row {difference.row} of {difference.symbol}, at {difference.now}",
        f"    recorded  {recorded}",
        f"    replayed  {replayed}",
    ]
