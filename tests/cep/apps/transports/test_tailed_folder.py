"""Files of a folder on a real disk: they grow, are renamed, truncated, packed; and what leads out of the folder."""

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.transports.tailed_folder import READ_BYTES, STEP_BYTES, TailedFolder, places_as_json, places_from_json

Wanted = Callable[[str], bool]


def any_name(name: str) -> bool:
    return True


@dataclass(slots=True)
class World:
    """A source on the folder `feeds`; `left_out`: what it said."""

    root: Path
    left_out: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "feeds"

    def source(self, wanted: Wanted = any_name, *, by_line: bool = True, tailed: bool = True) -> TailedFolder:
        def tell(message: str, reason: str) -> None:
            self.left_out.append(reason)

        return TailedFolder(self.root, ("feeds",), wanted, by_line, tailed, tell)

    def write(self, name: str, text: str, mode: str = "a") -> Path:
        path = self.folder / name
        with path.open(mode) as file:
            file.write(text)
        return path


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "feeds").mkdir()
    return World(tmp_path)


def read(source: TailedFolder, steps: int = 2) -> list[str]:
    """Take steps, as after a restart each time, until nothing more comes; return what came."""
    found: list[str] = []
    quiet = 0
    while quiet < steps:
        step = source.step()
        source.places = places_from_json(places_as_json(step.places))
        found += [one.body.decode() for one in step.messages]
        quiet = 0 if step.messages or step.is_more else quiet + 1
    return found


def test_lines_come_once_they_are_whole(world: World) -> None:
    source = world.source()
    world.write("a.log", "one\ntwo\nthr")
    assert read(source) == ["one", "two"]
    world.write("a.log", "ee\n\nfour\n")
    assert read(source) == ["three", "four"]
    assert read(source) == []
    message = world.source().step().messages[0]
    assert message.properties == {"file.name": "a.log", "file.path": "feeds/a.log"}


def test_another_run_goes_on_where_the_last_one_was(world: World) -> None:
    source = world.source()
    world.write("a.log", "one\n")
    read(source)
    world.write("a.log", "two\n")
    again = world.source()
    again.places = source.places
    assert read(again) == ["two"]


def test_a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_beginning(world: World) -> None:
    source = world.source(lambda name: name == "a.log")
    path = world.write("a.log", "one\n")
    assert read(source) == ["one"]
    world.write("a.log", "two\n")
    path.rename(world.folder / "a.log.1")
    world.write("a.log", "three\n")
    assert sorted(read(source)) == ["three", "two"]
    # who holds the old file open may still write
    world.write("a.log.1", "late\n")
    assert read(source) == ["late"]


def test_a_file_that_is_renamed_while_the_folder_is_looked_at_comes_once(world: World) -> None:
    file, rotations = world.write("a.log", "one\n"), list[Path]()

    def rotating(name: str) -> bool:
        """Rotate once, between the look at the folder and the opening of the file."""
        if rotations:
            file.rename(rotations.pop())
            world.write("a.log", "three\n")
        return True

    source = world.source(rotating)
    assert read(source) == ["one"]
    world.write("a.log", "two\n")
    rotations.append(world.folder / "a.log.1")
    assert sorted(read(source)) == ["three", "two"]


def test_a_file_that_cannot_be_opened_for_a_while_goes_on_where_it_was(world: World) -> None:
    file, aside = world.write("a.log", "one\n"), world.root / "aside"
    hidden: list[bool] = []

    def hiding(name: str) -> bool:
        """Put a link, which is never opened, in the file's place once the folder was looked at."""
        if hidden:
            hidden.clear()
            file.rename(aside)
            file.symlink_to(aside)
        return True

    source = world.source(hiding)
    assert read(source) == ["one"]
    world.write("a.log", "two\n")
    hidden.append(True)
    step = source.step()
    assert (step.messages, len(step.places)) == ((), 1)
    source.places = step.places
    aside.replace(file)
    assert read(source) == ["two"]
    assert world.left_out == ["a.log cannot be opened: Too many levels of symbolic links"]


def test_a_truncated_file_is_read_from_its_beginning(world: World) -> None:
    source = world.source()
    world.write("a.log", "one\ntwo\nthree\n")
    read(source)
    world.write("a.log", "four\n", "w")
    assert read(source) == ["four"]
    # longer at once than it was before: its first bytes tell
    world.write("a.log", "five\nsix\nseven\neight\nnine\n", "w")
    assert read(source) == ["five", "six", "seven", "eight", "nine"]


def test_packed_files_are_read_once_and_rotated_ones_gone_on_with(world: World) -> None:
    source = world.source()
    (world.folder / "old.gz").write_bytes(gzip.compress(b"a\nb\n") + gzip.compress(b"c"))
    assert read(source) == ["a", "b", "c"]
    path = world.write("a.log", "one\ntwo\n")
    assert read(source) == ["one", "two"]
    world.write("a.log", "three\n")
    (world.folder / "a.log.1.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert read(source, 3) == ["three"]


def test_a_rotated_file_is_not_taken_for_a_new_one_that_begins_alike(world: World) -> None:
    """The new log has no more than the header that all of them have."""
    header = f"{'#' * 400}\n"
    (world.folder / "a.log").write_text(f"{header}" + "".join(f"line {n}\n" for n in range(200)))
    source = world.source()
    assert len(read(source)) == 201
    packed = gzip.compress((world.folder / "a.log").read_bytes())
    (world.folder / "a.log").rename(world.folder / "a.log.1")
    (world.folder / "a.log").write_text(header)
    # it comes first of the two
    os.utime(world.folder / "a.log", (1, 1))
    assert read(source) == [header.rstrip()]
    (world.folder / "a.log.1.gz").write_bytes(packed)
    (world.folder / "a.log.1").unlink()
    assert read(source, 4) == []


def test_a_packed_file_that_takes_the_name_of_a_half_read_one_is_read_as_it_is(world: World) -> None:
    source, found = world.source(), list[str]()
    lines = {name: [f"{name} {n} {'x' * 90}" for n in range(8_000)] for name in ("old", "new")}
    packed = {name: gzip.compress("".join(f"{line}\n" for line in of_one).encode()) for name, of_one in lines.items()}
    (world.folder / "a.gz").write_bytes(packed["old"])
    while not found:
        step = source.step()
        source.places, found = step.places, [one.body.decode() for one in step.messages]
    (world.folder / "a.gz").rename(world.folder / "a.1.gz")
    (world.folder / "a.gz").write_bytes(packed["new"])
    found += read(source)
    for name, of_one in lines.items():
        assert [line for line in found if line.startswith(name)] == of_one
    assert len(found) == 16_000


def test_a_step_reads_some_megabytes_of_all_files_and_the_next_ones_the_rest(world: World) -> None:
    source = world.source()
    for n in range(60):
        world.write(f"{n:02}.log", f"{n:02} {'x' * 96}\n" * 2_500)
    step = source.step()
    assert step.is_more
    assert len(step.messages) * 300 <= STEP_BYTES + READ_BYTES * 3
    source.places = step.places
    assert len(step.messages) + len(read(source)) == 60 * 2_500


def test_a_step_that_follows_at_once_does_not_tell_that_a_file_stands_still(world: World) -> None:
    source = world.source(by_line=False)
    for n in range(20):
        world.write(f"{n:02}.xml", "x" * 500_000)
    source.places = source.step().places
    world.write("zz.xml", "<half")
    step = source.step()
    assert step.is_more
    source.places = step.places
    step = source.step()
    source.places = step.places
    assert not any(one.properties["file.name"] == "zz.xml" for one in step.messages)
    world.write("zz.xml", "/>")
    assert read(source) == ["<half/>"]


def test_a_carriage_return_ends_no_line(world: World) -> None:
    source = world.source()
    with (world.folder / "a.log").open("wb") as file:
        file.write(b"10 %\r20 %\r\ntwo\n")
    assert read(source) == ["10 %\r20 %", "two"]


def test_a_bomb_and_a_broken_archive_take_no_memory_and_give_no_row(world: World) -> None:
    source = world.source()
    (world.folder / "bomb.gz").write_bytes(gzip.compress(b"0" * (64 << 20)))
    (world.folder / "broken.gz").write_bytes(b"\x1f\x8bno archive")
    world.write("a.log", "one\n")
    assert read(source) == ["one"]
    assert any("more than" in one for one in world.left_out)
    assert "broken.gz cannot be read" in world.left_out


def test_long_lines_are_left_out_whole(world: World) -> None:
    source = world.source()
    world.write("a.log", "one\n" + "x" * 600_000)
    assert read(source) == ["one"]
    world.write("a.log", "x" * 300_000 + "\ntwo\n")
    assert read(source) == ["two"]
    assert any("more than 262,144 bytes" in one for one in world.left_out)


def test_no_link_leads_out_of_the_folder(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    (world.folder / "link").symlink_to(outside / "secret")
    os.mkfifo(world.folder / "pipe")
    (world.folder / "inner").mkdir()
    world.write("a.log", "one\n")
    assert read(world.source()) == ["one"]
    assert {one.partition(" ")[0] for one in world.left_out} == {"link", "pipe", "inner"}
    # a folder that is a link is none
    (tmp_path / "linked").symlink_to(outside)
    with pytest.raises(NotADirectoryError):
        TailedFolder(tmp_path, ("linked",), any_name, by_line=True, is_tailed=True, tell=lambda *_: None).step()


def test_whole_files_are_messages_once_they_stand_still(world: World) -> None:
    source = world.source(by_line=False)
    world.write("a.xml", "<a>")
    assert source.step().messages == ()
    world.write("a.xml", "</a>")
    assert read(source) == ["<a></a>"]
    world.write("a.xml", "<b/>", "w")
    assert read(source) == ["<b/>"]
    assert read(source) == []


def test_a_file_that_is_not_tailed_has_a_last_line_without_an_end(world: World) -> None:
    source = world.source(tailed=False)
    world.write("a.csv", "name,n\nx,1\ny,2")
    assert read(source) == ["name,n", "x,1", "y,2"]


@given(st.lists(st.sampled_from(["line\n", "part", "\n", "rotate", "restart"]), max_size=25))
def test_every_line_comes_once_whatever_is_done(acts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.folder.mkdir()
        source, found, files, number = world.source(), list[str](), [""], 0
        for act in acts:
            match act:
                case "rotate":
                    if (world.folder / "a.log").exists():
                        (world.folder / "a.log").rename(world.folder / f"a.log.{len(files)}")
                    files.append("")
                case "restart":
                    places = source.places
                    source = world.source()
                    source.places = places
                case text:
                    number += 1
                    said = f"{number} {text}"
                    files[-1] += said
                    world.write("a.log", said)
            found += read(source, 1)
        expected = [line for text in files for line in text.split("\n")[:-1] if line]
        assert sorted(found) == sorted(expected)
