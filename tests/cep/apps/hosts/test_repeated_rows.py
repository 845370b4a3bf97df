"""Rows that a process gives again, because the one before was killed, are counted apart from rows."""

from pathlib import Path

from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.resident.app_figures import AppFigures
from cep.apps.resident.written_mark import WrittenMark
from streams.message_format import row_of
from tests.cep.logs import LogMaker

SOURCE = AppSource("a", "from quotes select exchange, bid insert into Seen; from Seen select bid insert into Out;")


def figures_over(folder: Path, log: list[bytes], first: int) -> AppFigures:
    """Return what is counted by a process that takes the log from the row `first` on, and is then killed."""
    figures = AppFigures(SOURCE, 0, WrittenMark(folder, 0))
    app = HostedApp(SOURCE, 0, observe=figures.observe)
    for offset, message in enumerate(log[first:], first):
        if app.take(offset, 0, row_of(message)):
            figures.gave(offset)
    return figures


def test_what_was_given_before_is_a_repeat_and_no_row(tmp_path: Path) -> None:
    log = LogMaker(5).write(300)
    whole = figures_over(tmp_path / "whole", log, 0)
    given = whole.counts["Out"]
    assert (whole.repeats, given > 100) == (0, True)
    before = figures_over(tmp_path / "cut", log[:200], 0)
    after = figures_over(tmp_path / "cut", log, 100)
    again = before.counts["Out"] - figures_over(tmp_path / "half", log[:100], 0).counts["Out"]
    assert after.repeats == again > 0
    assert before.counts["Out"] + after.counts["Out"] == given
    assert before.counts["quotes"] + after.counts["quotes"] == whole.counts["quotes"]


def test_a_mark_goes_on_where_the_one_before_it_was(tmp_path: Path) -> None:
    mark = WrittenMark(tmp_path / "app", 3)
    assert mark.before == 0
    for offset in (7, 9, 8):
        mark.note(offset)
    mark.close()
    assert WrittenMark(tmp_path / "app", 3).before == 10
    assert WrittenMark(tmp_path / "app", 4).before == 0
