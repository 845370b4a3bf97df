"""What ran last of an app in this session, on disk: whoever runs it next goes on there."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cep.apps.engine.app_labels import DIGEST_CHARACTERS
from cep.apps.hosts.input_log import InputPlace
from cep.apps.hosts.input_merger import LogBegin
from launch.setup.data_dir import write_atomically
from store.records.apps import AppOrder

SUFFIX = ".run"


@dataclass(frozen=True, slots=True)
class RunNote:
    """`version`: of the stored app. `label`: of its files. `order`: the number of the one that was done. `begin`: where
    it took over from another version, by partition; empty if it was the session's first. `has_ended`: somebody stopped
    it, or it failed; else it is begun again if a later version cannot run."""

    version: int
    label: str
    order: int
    begin: Mapping[int, LogBegin] = field(default_factory=dict)
    has_ended: bool = False


def write_note(folder: Path, name: str, note: RunNote) -> None:
    """`folder`: of the session's apps. Raises OSError."""
    begin = {str(partition): (one.offset, one.place.next, one.place.token) for partition, one in note.begin.items()}
    kept = {"version": note.version, "label": note.label, "order": note.order, "begin": begin, "ended": note.has_ended}
    write_atomically(folder / f"{name}{SUFFIX}", json.dumps(kept).encode())


def read_note(folder: Path, name: str) -> RunNote | None:
    """Return None if the app has not run in this session, or its note cannot be read. Raises OSError."""
    try:
        kept: Mapping[str, Any] = json.loads((folder / f"{name}{SUFFIX}").read_bytes())
        begin = {
            int(partition): LogBegin(int(offset), InputPlace(dict(following), token))
            for partition, (offset, following, token) in kept["begin"].items()
        }
        return RunNote(int(kept["version"]), str(kept["label"]), int(kept["order"]), begin, bool(kept.get("ended")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def note_end(folder: Path, name: str) -> None:
    """Note that what ran last has ended, so that it is not begun again by itself. Raises OSError."""
    note = read_note(folder, name)
    if note is not None:
        write_note(folder, name, replace(note, has_ended=True))


def takes_over(note: RunNote | None, order: AppOrder, label: str) -> bool:
    """Return whether something else than what ran last is to run: another version, one that begins empty, or one that
    begins with a savepoint."""
    is_other = note is not None and (note.label != label or not order.keeps_state or bool(order.savepoint))
    return note is not None and note.order != order.number and is_other


def forget_app(folder: Path, name: str) -> None:
    """Remove what this session has on disk of a removed app: its note, and the snapshots of all its versions. Raises
    OSError."""
    (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
    for label in folder.glob(f"{name}-{'[0-9a-f]' * DIGEST_CHARACTERS}"):
        shutil.rmtree(label)
