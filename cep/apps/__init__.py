"""Stream apps: their language, its compiler, the engine, and the hosts that connect it to Kafka and Spark.

`StreamApp` and what is with it is the library: an app in a program of one's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cep.apps.engine.on_demand import Answer as Answer
    from cep.apps.engine.snapshots import SnapshotError as SnapshotError
    from cep.apps.errors import AppError as AppError
    from cep.apps.errors import AppFailedError as AppFailedError
    from cep.apps.functions.operator_terms import OperatorTerms as OperatorTerms
    from cep.apps.language.errors import AppTextError as AppTextError
    from cep.apps.parts.app_limits import AppLimits as AppLimits
    from cep.apps.stream_app import OutputRow as OutputRow
    from cep.apps.stream_app import RowError as RowError
    from cep.apps.stream_app import StreamApp as StreamApp

LIBRARY = {
    "Answer": "cep.apps.engine.on_demand",
    "AppError": "cep.apps.errors",
    "AppFailedError": "cep.apps.errors",
    "AppLimits": "cep.apps.parts.app_limits",
    "AppTextError": "cep.apps.language.errors",
    "OperatorTerms": "cep.apps.functions.operator_terms",
    "OutputRow": "cep.apps.stream_app",
    "RowError": "cep.apps.stream_app",
    "SnapshotError": "cep.apps.engine.snapshots",
    "StreamApp": "cep.apps.stream_app",
}
"""Name → module."""


def __getattr__(name: str) -> object:
    # loaded when asked for: every command reads the limits of apps, and needs no compiler
    if name not in LIBRARY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LIBRARY[name]), name)
