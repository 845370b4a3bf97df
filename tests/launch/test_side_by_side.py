"""Commands that run side by side: each after those that it needs, and one that fails ends the others."""

import sys
from pathlib import Path

import pytest

from launch.setup.side_by_side import Job, JobFailedError, run_jobs

NEVER = "import signal; signal.pause()"


def python(code: str, *words: object) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import os, sys\n{code}", *map(str, words))


def note(path: Path, word: str) -> tuple[str, ...]:
    """Append a word to the file."""
    return python("open(sys.argv[1], 'a').write(sys.argv[2])", path, word)


def test_a_job_waits_for_those_that_it_needs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    jobs = [
        Job("last", note(out, "3"), after=("first", "second")),
        Job("second", note(out, "2"), after=("first",)),
        Job("first", note(out, "1")),
    ]
    run_jobs(jobs, lambda _: None)
    assert out.read_text() == "123"


def test_jobs_run_at_the_same_time_and_say_that_they_do(tmp_path: Path) -> None:
    """Each waits for the other through a pipe; what they print is no matter how much."""
    pipes = tmp_path / "there", tmp_path / "back"
    for pipe in pipes:
        Path(pipe).unlink(missing_ok=True)
    code = "for one in sys.argv[1:]: os.path.exists(one) or os.mkfifo(one)"
    run_jobs([Job("pipes", python(code, *pipes))], lambda _: None)
    noise = "print('x' * 100_000)\n"
    jobs = [
        Job("one", python(f"{noise}open(sys.argv[1], 'w').write('a'); open(sys.argv[2]).read()", *pipes)),
        Job("two", python(f"{noise}open(sys.argv[1]).read(); open(sys.argv[2], 'w').write('b')", *pipes)),
    ]
    run_jobs(jobs, lambda _: None)


def test_progress_names_what_still_runs(tmp_path: Path) -> None:
    os_pipe = tmp_path / "go"
    run_jobs([Job("pipe", python("os.mkfifo(sys.argv[1])", os_pipe))], lambda _: None)
    said: list[tuple[str, ...]] = []

    def hear(names: tuple[str, ...]) -> None:
        said.append(names)
        if len(said) == 2:
            os_pipe.write_text("go")

    run_jobs([Job("slow", python("open(sys.argv[1]).read()", os_pipe))], hear, 0.05)
    assert said[:2] == [("slow",), ("slow",)]


def test_the_first_that_fails_ends_the_others_and_is_quoted() -> None:
    failing = python("print('no route to host'); sys.exit(3)")
    jobs = [Job("endless", python(NEVER)), Job("Spark", failing), Job("never", python(NEVER), after=("Spark",))]
    with pytest.raises(JobFailedError, match=r"^Spark: failed; check the network .*\.\nno route to host$"):
        run_jobs(jobs, lambda _: None)
