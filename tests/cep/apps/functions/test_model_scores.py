"""Models in apps: ONNX files of the operator's folder, checked against what they take and give."""

import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.model_scores import LIBRARY
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from tests.cep.apps.functions.onnx_files import INT64, linear, same_text, two_inputs

STREAM = "define stream S (i int, d double, s string);\n"
needs_library = pytest.mark.skipif(find_spec(LIBRARY) is None, reason=f"{LIBRARY} is not installed")


@pytest.fixture
def terms(tmp_path: Path) -> OperatorTerms:
    models = {
        "linear": linear((2.0, -1.0, 0.5)),
        "three-rows": linear((1.0,), 3),
        "sum": two_inputs(),
        "whole": two_inputs(INT64, ("n", 1)),
        "text": same_text(),
        "broken": b"\x08\x08 no model",
        "pickled": pickle.dumps({"not": "a model"}),
    }
    for name, content in models.items():
        (tmp_path / f"{name}.onnx").write_bytes(content)
    (tmp_path / "other.pkl").write_bytes(models["pickled"])
    return OperatorTerms(models=tmp_path)


def given(terms: OperatorTerms, call: str) -> Any:
    engine, rows = (
        StreamEngine(parse_app(f"{STREAM}from S select {call} as x insert into O;"), terms=terms),
        list[Any](),
    )
    engine.listen("O", lambda _at, row: rows.append(row[0]))
    engine.send("S", 1, (7, 1.5, "x"))
    return rows[0]


@needs_library
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("model:score('linear', d, i, 4)", -2.0),
        ("model:score('linear:score', d, i, 4) + 1.0", -1.0),
        ("model:score('sum', d, i)", 8.5),
        ("model:score('whole', i, 2)", 9),
        ("model:score('text', s)", "x"),
        ("model:score('linear', d, convert('x', 'int'), 4)", None),
    ],
)
def test_a_model_scores_a_row(terms: OperatorTerms, call: str, expected: Any) -> None:
    value = given(terms, call)
    assert (value, type(value)) == (expected, type(expected))


@needs_library
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("model:score('linear', d, i)", r"line 2, column 15: model:score\(\) takes 3 values, and has 2"),
        ("model:score('linear', d, i, s)", "takes int or long or float or double here, and this is string"),
        ("model:score('whole', i, d)", "takes int or long here, and this is double"),
        (
            "model:score('linear:all', d, i, 1)",
            r"linear.onnx gives 'all' as tensor\(float\) of shape .*, not one value",
        ),
        ("model:score('linear:scor', d, i, 1)", "linear.onnx has no output 'scor'; did you mean 'score'"),
        ("model:score('three-rows', d)", "three-rows.onnx takes 3 rows at once in 'x', and an app has one"),
        ("model:score('broken', d)", "broken.onnx is no ONNX model that can be run: "),
        ("model:score('pickled', d)", "pickled.onnx is no ONNX model that can be run: "),
    ],
)
def test_a_call_is_checked_against_the_model(terms: OperatorTerms, call: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        given(terms, call)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("model:score('liner', d)", "liner.onnx is missing; did you mean 'linear'"),
        ("model:score('other.pkl', d)", "takes a model's name in quotes first"),
        ("model:score('../linear', d)", "takes a model's name in quotes first"),
        ("model:score(s, d)", "line 2, column 15: model:score.. takes a model's name in quotes first"),
        ("model:scores('linear', d)", "there is no function model:scores"),
    ],
)
def test_a_model_is_named_as_a_file_of_the_folder(terms: OperatorTerms, call: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        given(terms, call)


def test_without_a_folder_there_is_no_model() -> None:
    with pytest.raises(AppTextError, match="line 2, column 15: there is no folder of models"):
        given(OperatorTerms(), "model:score('linear', d)")


def test_without_the_library_one_sentence_says_what_to_install(terms: OperatorTerms, tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path

sys.modules[{LIBRARY!r}] = None  # what is not installed cannot be imported
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app

app = parse_app({f"{STREAM}from S select model:score('linear', d, i, 4) as x insert into O;"!r})
StreamEngine(app, terms=OperatorTerms(models=Path(sys.argv[1])))
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert "needs onnxruntime, which is not installed: pip install" in done.stderr
