"""Finds where in the log a session's detection began: what came before belongs to no session."""

import json

from session.session import Session


class NotBegunError(LookupError):
    """The session's detection has not started yet, or more than once; one sentence."""


def detection_start(session: Session) -> tuple[dict[int, int], str | None]:
    """Return the offsets of `ticks` and the settings that the detection started with, from its checkpoint folder.
    Raises NotBegunError; OSError, ValueError if it is damaged."""
    found = sorted((session.home / "checkpoints" / session.session_id).glob("*/opening.json"))
    if len(found) != 1:
        raise NotBegunError(
            f"detection started {len(found)} times, so where the log of this session begins is not known"
        )
    opening = json.loads(found[0].read_text())
    return {int(partition): int(offset) for partition, offset in opening["offsets"].items()}, opening["settings"]
