"""Answers questions about texts of stream apps, one a line, in a process of its own: the dashboard carries live prices,
and what somebody types must not stop them, however much there is to compile.

A request is a JSON object on a line: `{"do": "check", "text", "name", "mode", "region", "cases"}` or
`{"do": "explain", "text", "name", "mode", "region"}`: mode and region are the session's, which decide how its host
compiles the text. `{"do": "diff", "before", "after", "names"}` is answered with a unified diff.
The answer is one too: `{"is": …}`, or `{"mistakes": […]}` where the text must be right. Whoever asks ends a process
that takes too long.
"""

import difflib
import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from cep.apps.engine.app_cases import AppCaseError, differences, read_case
from cep.apps.formats.case_messages import with_rows
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.event_watch import CaseWatch, bounded_memory, memory_problem, watched
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.app_parser import MOST_CHARACTERS
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import AppLimitError
from cep.apps.texts.app_explanation import explained
from cep.apps.texts.text_check import CheckedText, checked_text
from launch.apps.acting import written_actions
from launch.apps.configured_terms import configured_terms, process_words
from launch.apps.published_texts import PublishedTexts
from launch.errors import LaunchError

MOST_BYTES = 512 * 1024**2
"""Memory for a text, beyond what the process needs for itself."""
CPU_SECONDS = 20
"""For one request; a process whose dashboard was killed ends by this at the latest."""
NICENESS = 5
MOST_CASES = 100
MOST_EXPECTED = 20
"""Words of what was expected, in an answer."""
Row = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Answer until the input ends. Returns the exit code."""
    os.nice(NICENESS)
    try:
        terms = configured_terms(process_words().parse_args(words).config)
    except LaunchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for line in sys.stdin.buffer:
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        sys.stdout.write(f"{json.dumps(answer(json.loads(line), terms))}\n")
        sys.stdout.flush()
    return 0


def answer(request: Row, terms: OperatorTerms) -> Row:
    """Return the answer to one request."""
    if request["do"] == "diff":
        before, after = request["before"].splitlines(), request["after"].splitlines()
        one, other = request["names"]
        return {"is": "\n".join(difflib.unified_diff(before, after, one, other, lineterm=""))}
    text, name = str(request["text"]), str(request.get("name") or "app")
    try:
        with bounded_memory(MOST_BYTES):
            texts = PublishedTexts(terms, request["mode"], request["region"])
            checked = checked_text(text, name, terms, texts.source)
            if request["do"] == "explain":
                return {"mistakes": _mistakes(checked)} if checked.source is None else {"is": explained(checked.source)}
            return {"is": _checked(checked, request.get("cases"), terms)}
    except (MemoryError, RecursionError):
        problem = f"this needs more than {MOST_BYTES:,} bytes to be checked; write a shorter text"
        return {"mistakes": [{"line": 1, "column": 1, "message": problem}]}


def _checked(checked: CheckedText, cases: str | None, terms: OperatorTerms) -> Row:
    found: Row = {"mistakes": _mistakes(checked)}
    if checked.source is not None:
        found["name"] = checked.source.name
        found["version"] = checked.source.version
        if acts := written_actions(checked.source):
            found["acts"] = acts
        if cases is not None:
            found["cases"] = list(_case_results(checked.source.text, cases, terms))
    return found


def _mistakes(checked: CheckedText) -> list[Row]:
    return [_mistake(one) for one in checked.mistakes]


def _mistake(error: AppTextError) -> Row:
    row: Row = {"line": error.at.line, "column": error.at.column, "message": error.problem}
    if error.expected:
        row["expected"] = list(error.expected[:MOST_EXPECTED])
    return row if error.nearest is None else row | {"nearest": error.nearest}


def _case_results(text: str, cases: str, terms: OperatorTerms) -> Iterator[Row]:
    """Yield what became of each case, a line of JSON each."""
    lines = [line for line in cases[:MOST_CHARACTERS].splitlines() if line.strip()]
    for number, line in enumerate(lines[:MOST_CASES], start=1):
        watch = CaseWatch(terms.limits)
        row: Row = {"id": f"line {number}", "passed": False}
        try:
            case = read_case(with_rows(line, text, parse_with_product_streams, terms.schemas))
            row["id"] = case.id
            with watched(watch):
                found = differences(case, text, parse_with_product_streams, terms, watch.begin)
            yield row | ({"passed": True} if not found else {"reason": "; ".join(found)})
        except (AppCaseError, AppTextError, AppLimitError) as error:
            yield row | {"reason": str(error)}
        except MemoryError:
            yield row | {"reason": memory_problem(terms.limits)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
