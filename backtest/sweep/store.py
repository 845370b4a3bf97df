"""A sweep on disk: what was asked, what detection found, and the results, a part per finished chunk.

    <home>/sweeps/NAME/sweep.json                     the definition; a sweep of another one is rejected under its name
    <home>/sweeps/NAME/candidates-3/                  what the widest settings emit, once detection is through
    <home>/sweeps/NAME/results/part-00017.parquet     the sets of one chunk, whole or not there at all

Files appear by renaming, so whatever is there after a crash is whole, and what is not there is done again.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from backtest.parameters import Parameters
from backtest.result.asset_marks import Marks
from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.parameter_grids import Grid
from backtest.sweep.results import SetResult, results_of, table_of

FORMAT = 2
"""Of the definition and the results."""
CANDIDATES, CANDIDATE_FORMAT = "candidates", 3
"""The candidates' format is apart: they can be found again, so those of another one are dropped, and no results."""
DEFINITION, RESULTS, RATE_AGES, MARKS = "sweep.json", "results", "rate_ages", "marks"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
CHUNKS, MAX_SETS_PER_CHUNK = 64, 50
"""Target number of chunks: a crash loses one chunk per core, and each chunk is a Spark task."""


@dataclass(frozen=True, slots=True)
class SweepDefinition:
    """Everything that determines the results of a sweep."""

    name: str
    tick_set: Path
    fingerprint: str
    """Checksum of the tick set's files."""
    grid: Grid
    parameters: Parameters
    """Parameters that are not varied."""
    folds: int | None
    """The number of folds of a walk-forward split."""
    versions: dict[str, str]
    format: int = FORMAT

    @property
    def chunk_sets(self) -> int:
        return min(max(-(-self.grid.size // CHUNKS), 1), MAX_SETS_PER_CHUNK)

    @property
    def chunks(self) -> int:
        return -(-self.grid.size // self.chunk_sets)

    def sets_of(self, chunk: int) -> range:
        """Return the numbers of the chunk's sets."""
        return range(chunk * self.chunk_sets, min((chunk + 1) * self.chunk_sets, self.grid.size))


_DEFINITION = TypeAdapter(SweepDefinition)
_MARKS = TypeAdapter(Marks)


class SweepStore:
    """The folder of one sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def candidates(self) -> Path:
        """Return the folder of candidates, as `backtest.detect.found_files` writes them; it also has the ages of FX
        rates."""
        return self.folder / f"{CANDIDATES}-{CANDIDATE_FORMAT}"

    def begin(self, definition: SweepDefinition) -> None:
        """Store the definition, or find the same one there. Raises SweepRejectedError if it is another."""
        path = self.folder / DEFINITION
        if path.exists():
            self._compare(self.definition(), definition)
            return
        # results without their definition are useless
        shutil.rmtree(self.folder / RESULTS, ignore_errors=True)
        self.drop_candidates()
        (self.folder / RESULTS).mkdir(parents=True)
        _put(path, _DEFINITION.dump_json(definition, indent=2))

    def definition(self) -> SweepDefinition:
        """Return the definition. Raises SweepRejectedError if there is no sweep, or one that this version
        cannot read."""
        path = self.folder / DEFINITION
        try:
            found = _DEFINITION.validate_json(path.read_bytes())
        except FileNotFoundError:
            _reject(f"there is no sweep {self.folder.name!r} in {self.folder.parent}")
        except (OSError, ValidationError) as error:
            _reject(f"{path}: cannot be read as a sweep ({str(error).splitlines()[0]}); remove its folder")
        if found.format != FORMAT:
            _reject(
                f"{path}: is of format {found.format}, while this version reads format {FORMAT}; show it with the "
                "version that wrote it, or remove its folder and run the sweep again"
            )
        return found

    def missing(self, definition: SweepDefinition) -> list[int]:
        """Return chunks without a part."""
        return [number for number in range(definition.chunks) if not self._part(number).exists()]

    def put_part(self, chunk: int, results: list[SetResult]) -> None:
        """Write atomically. Two tasks may write the same chunk: the content is the same."""
        sink = pa.BufferOutputStream()
        pq.write_table(table_of(results), sink, compression="zstd")
        _put(self._part(chunk), sink.getvalue().to_pybytes())

    def remove(self, chunks: list[int]) -> None:
        """Remove the results of these chunks, and the candidates."""
        self.drop_candidates()
        for chunk in chunks:
            self._part(chunk).unlink(missing_ok=True)

    def drop_candidates(self) -> None:
        """Remove the candidates, of any format."""
        for folder in self.folder.glob(f"{CANDIDATES}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def put_rate_ages(self, folder: Path, ages: list[int]) -> None:
        """Write the ages per candidate, in the order of `folder`, which is not in its place yet."""
        pq.write_table(pa.table({"age": pa.array(ages, pa.int64())}), folder / RATE_AGES, compression="zstd")

    def put_marks(self, folder: Path, marks: Marks) -> None:
        """Write the marks, the same for every set; `folder` as above."""
        (folder / MARKS).write_bytes(_MARKS.dump_json(marks))

    def marks(self) -> Marks:
        return _MARKS.validate_json((self.candidates / MARKS).read_bytes())

    def rate_ages(self) -> list[int]:
        ages = pq.read_table(self.candidates / RATE_AGES, use_threads=False)["age"].to_pylist()
        return [age for age in ages if age is not None]

    def results(self) -> list[SetResult]:
        """Return the results of all finished chunks, by set and span. Raises SweepRejectedError if a part is
        damaged."""
        found: list[SetResult] = []
        for path in sorted((self.folder / RESULTS).glob("part-*.parquet")):
            try:
                found += results_of(pq.read_table(path, use_threads=False))
            except (OSError, pa.ArrowInvalid, LookupError, ValueError) as error:
                _reject(f"{path}: is damaged ({error}); remove it and run the sweep again")
        return sorted(found, key=lambda result: (result.number, result.span))

    def _part(self, chunk: int) -> Path:
        return self.folder / RESULTS / f"part-{chunk:05}.parquet"

    def _compare(self, stored: SweepDefinition, asked: SweepDefinition) -> None:
        """Compare the content of the tick set, not its folder."""
        differing = {
            "the tick set": stored.fingerprint != asked.fingerprint,
            "the parameter sets": stored.grid != asked.grid,
            "the walk-forward split": stored.folds != asked.folds,
            "the fixed parameters": stored.parameters != asked.parameters,
            "the version of the program": stored.versions != asked.versions,
        }
        if any(differing.values()):
            names = [name for name, differs in differing.items() if differs]
            verb = "differs" if len(names) == 1 and not names[0].endswith("s") else "differ"
            what = f"{' and '.join(names)} {verb}"
            _reject(f"sweep {asked.name!r} exists with another definition ({what}); choose another --name")
        if stored.tick_set != asked.tick_set:
            _put(self.folder / DEFINITION, _DEFINITION.dump_json(asked, indent=2))


def sweep_store(home: Path, name: str) -> SweepStore:
    """Return the store. Raises SweepRejectedError if `name` is not a valid folder name."""
    if not NAME.fullmatch(name):
        _reject(f"{name!r} is not a valid sweep name: use letters, digits, dots, dashes and underscores")
    return SweepStore(home / "sweeps" / name)


def _put(path: Path, content: bytes) -> None:
    scratch = _scratch(path)
    with scratch.open("wb") as file:
        file.write(content)
        file.flush()
        # a name that survives a power cut must not point at content that does not
        os.fsync(file.fileno())
    scratch.replace(path)


def _scratch(path: Path) -> Path:
    """Return another name per process, so that two that write the same file do not write into each other's."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def _reject(sentence: str) -> NoReturn:
    raise SweepRejectedError(sentence)
