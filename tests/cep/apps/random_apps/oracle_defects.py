"""Where a random app may give other rows than Siddhi does, and why; what no reason covers has to be equal.

The templates leave out what they can of what Siddhi 5.1.30 gets wrong, and of what it does not promise:

- `min()` and `max()` of values that come twice, or over windows that rows leave in another order than they came
- nulls when Siddhi compares them by a method of theirs: sorted windows, `order by`, snapshots, `frequent`
- `maximum()` of values below 0 alone, which is the least positive double there
- `distinctCount()` of truths, which Siddhi refuses; and if a row leaves that never came, for which it fails: in
  joins, and over named windows
- a part of `and` or `or` that names the other part, and two absences in a row: Siddhi refuses them
- `output first` after a batch, where the mark between two batches is taken for the first row
- tables: rows found through an index after it changed, `set` that reads the row's own columns if it has a key (null
  there), and the row after the last one was deleted
- windows by time, and rows that leave, in partitions: which key comes first is not promised
- steps with a count at the end of a sequence, which never match there; but for `*` and `?`
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.cep.apps.random_apps.oracle_comparison import HANGS
from tests.cep.apps.random_apps.random_rows import RandomCase

SEQUENCE = r"from [^\n]*e\d=[^\n]*, (e\d=|not )[^\n]*"


@dataclass(frozen=True)
class OracleDefect:
    """`is_met`: whether it may be why these differences were found. `is_understood`: whether what Siddhi does is known
    in all its steps; else it is only known which apps it happens to."""

    reason: str
    is_met: Callable[[RandomCase, Sequence[str]], bool]
    is_understood: bool = True


def written(pattern: str) -> Callable[[RandomCase, Sequence[str]], bool]:
    """Whether the app's text has it."""
    return lambda case, _: re.search(pattern, case.app) is not None


def _times_of_chunks_alone(case: RandomCase, found: Sequence[str]) -> bool:
    of_rows = [one for one in found if not one.startswith("query ")]
    return not of_rows and re.search(r"Batch|batch\(|delay", case.app) is not None


def _hangs_in_a_delay(case: RandomCase, found: Sequence[str]) -> bool:
    return list(found) == [HANGS] and "window.delay" in case.app


AGGREGATED = r"\b(sum|avg|count|stdDev|distinctCount|and|or|min|max|minForever|maxForever|unionSet)\("
SNAPSHOT = r"\n(group by [^\n]*\n)?(having [^\n]*\n)?output snapshot"
NOT_AND = re.compile(r"not (Ticks|Deals)(\[[^\n]*?\])?( for [\w ]+?)? and e\d=")


def _cut_off(case: RandomCase, _: Sequence[str]) -> bool:
    found = [one for line in case.app.split("\n") if line.startswith("from ") for one in NOT_AND.finditer(line)]
    return any(len(re.findall(rf"(=|not ){one[1]}\b", one.string)) > 1 for one in found)


def _null_in_a_snapshot(case: RandomCase, _: Sequence[str]) -> bool:
    has_nulls = any(None in values for _, _, values in case.events) or " outer join " in case.app
    return has_nulls and "output snapshot" in case.app


def _nulls_in_a_join(case: RandomCase, _: Sequence[str]) -> bool:
    has_nulls = any(None in values for _, _, values in case.events)
    return has_nulls and " join " in case.app


def _no_deviation(case: RandomCase, found: Sequence[str]) -> bool:
    """Return a row with NaN, or one that a condition on it left out."""
    is_shown = any("nan" in one for one in found)
    return "stdDev(" in case.app and (is_shown or re.search(r"having |from Out\d+\[", case.app) is not None)


DEFECTS = (
    OracleDefect("stdDev() is NaN if rounding leaves a variance below 0, after rows have left", _no_deviation),
    OracleDefect(
        "what one part of `or` completed begins once more when `within` is over, so each row is found ever more often",
        written(r"every e\d=[^\n]* (or|and) e\d=[^\n]* within "),
    ),
    OracleDefect(
        "the time that a listener to the query is given for a chunk of expired rows alone", _times_of_chunks_alone
    ),
    OracleDefect(
        "`within` is counted from another row than the first if a group under `every` begins anew",
        written(r"every \([^\n]* within "),
    ),
    OracleDefect(
        "the aggregators of a window `expression` are shared by all keys of a partition",
        written(r"partition with[\s\S]*window\.expression"),
    ),
    OracleDefect(
        "sum(), avg() and stdDev() of a join if more rows leave than came: without a row there is still a value",
        written(r" join [^\n]*\n[^\n]*(sum|avg|stdDev)\("),
    ),
    OracleDefect(
        "which key's timer comes first",
        written(r"partition with[\s\S]* for \d"),
    ),
    OracleDefect(
        "a step at the end that needs no row: with two steps ahead of it and more, the match is given before the step "
        "ahead has its row, with a later one, or never",
        written(r"(, e\d=[^\n]*[*?]|-> e\d=[^\n]*<:2>)\)?(\n| within)"),
    ),
    OracleDefect(
        "which of several keys leaves a window `frequent` first is in hash order",
        written(r"window\.frequent\([23], \w+\)[\s\S]*(all|expired) events"),
    ),
    OracleDefect(
        "ifThenElse() of truths is false if the chosen one is null",
        written(r"ifThenElse\([^\n]*, (live|not live|instanceOf)"),
    ),
    OracleDefect(
        "a snapshot of a window with two aggregated columns and more compares these too, so what leaves is not found, "
        "or looks for a column behind the last, and the row is lost",
        written(rf"select [^\n]*{AGGREGATED}[^\n]*{AGGREGATED}[^\n]*{SNAPSHOT}"),
    ),
    OracleDefect("a snapshot fails if it compares a null, and the row is lost to all", _null_in_a_snapshot),
    OracleDefect(
        "matches that are still to be given are cut off if a `not … and` looks at the row that completed them",
        _cut_off,
    ),
    OracleDefect(
        "a pattern that is `a and b` alone loses a match if the row of `a` comes last",
        written(r"from (every )?e1=\w+(\[[^\n]*?\])? and e2=\w+(\[[^\n]*\])?( within [^\n]*)?\nselect"),
    ),
    OracleDefect(
        "an absence at the start does not hear a row while nothing waits, and is over too early",
        written(r"from not \w+[^\n]* for \d"),
    ),
    OracleDefect("a row that was updated is found through its index twice", written(r"@Index[\s\S]* update Held")),
    OracleDefect("a window `delay` that is given several rows at once never ends", _hangs_in_a_delay),
    OracleDefect(
        "of several rows that a window `session` is given at once, one that is past the session's end is in none and "
        "never leaves",
        written(r"from Out\d+[^\n]*#window\.session"),
    ),
    OracleDefect(
        "distinctCount() fails if a row leaves before it came, as in `expressionBatch`, and the row is lost to all",
        written(r"#window\.expressionBatch[^\n]*\nselect [^\n]*distinctCount\("),
    ),
    OracleDefect(
        "in a sequence a step of two rows never matches, as every row clears what waits for the second",
        written(SEQUENCE.replace(", (e", "<2>[^\\n]*, (e") + "|" + SEQUENCE + r"<2>"),
    ),
    OracleDefect(
        "a snapshot of groups of which `having` leaves out what leaves",
        written(r"having [^\n]*\noutput snapshot"),
        is_understood=False,
    ),
    OracleDefect(
        "the other side of a join never finds what a window `session` has",
        written(r"#window\.session[^\n]* join "),
    ),
    OracleDefect(
        "once an update was refused for the keys that rows would have, other updates of keys are refused too",
        written(r"update Held set Held\.coin = "),
    ),
    OracleDefect(
        "an absence behind a first step of one row and more is never found if a further row moved its time on",
        written(r"from e1=[^\n]*<\d?:\d?> -> not \w+(\[[^\n]*?\])? for \d"),
    ),
    OracleDefect(
        "some of the rows that the clock brings to a window `delay` wait for its next move",
        written(r"from Out\d+[^\n]*#window\.delay"),
        is_understood=False,
    ),
    OracleDefect("a join of rows with nulls loses rows", _nulls_in_a_join, is_understood=False),
)


def reason_for(case: RandomCase, found: Sequence[str]) -> OracleDefect | None:
    """Return the first defect that may be why; None if nothing explains it."""
    return next((defect for defect in DEFECTS if defect.is_met(case, found)), None)
