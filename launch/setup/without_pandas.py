"""Arrow without pandas: a command that hands it no values of pandas need not wait half a second for its import."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas:
    """Finds every module as before, and no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out")
        return None


def leave_pandas_out() -> None:
    """Let Arrow know no pandas in this process. It would import it with the first array that it makes of values of
    Python or NumPy, to ask whether they are pandas' own; it asks once whether there is any. Others may import it on."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(finder)
