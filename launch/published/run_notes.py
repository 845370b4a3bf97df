"""What ran last of an app in this session, on disk: whoever runs it next goes on there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cep.apps.hosts.input_log import InputPlace
from cep.apps.hosts.input_merger import LogBegin
from launch.setup.data_dir import write_atomically

SUFFIX = ".run"


@dataclass(frozen=True, slots=True)
class RunNote:
    """`version`: of the stored app. `label`: of its files. `order`: the number of the one that was done. `begin`: where
    it took over from another version, by partition; empty if it was the session's first."""

    version: int
    label: str
    order: int
    begin: Mapping[int, LogBegin] = field(default_factory=dict)


def write_note(folder: Path, name: str, note: RunNote) -> None:
    """`folder`: of the session's apps. Raises OSError."""
    begin = {str(partition): (one.offset, one.place.next, one.place.token) for partition, one in note.begin.items()}
    text = json.dumps({"version": note.version, "label": note.label, "order": note.order, "begin": begin})
    write_atomically(folder / f"{name}{SUFFIX}", text.encode())


def read_note(folder: Path, name: str) -> RunNote | None:
    """Return None if the app has not run in this session, or its note cannot be read. Raises OSError."""
    try:
        kept: Mapping[str, Any] = json.loads((folder / f"{name}{SUFFIX}").read_bytes())
        begin = {
            int(partition): LogBegin(int(offset), InputPlace(dict(following), token))
            for partition, (offset, following, token) in kept["begin"].items()
        }
        return RunNote(int(kept["version"]), str(kept["label"]), int(kept["order"]), begin)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def remove_note(folder: Path, name: str) -> None:
    (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
