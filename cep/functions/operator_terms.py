"""What the operator of this machine lets apps use: folders with functions and models, addresses, and how much an
app may take."""

from dataclasses import dataclass, field
from pathlib import Path

from cep.parts.app_limits import AppLimits


@dataclass(frozen=True, slots=True)
class OperatorTerms:
    """`functions`: a folder of Python files; `models`: one of ONNX files. None: there is none, and an app that names
    something of it cannot run."""

    functions: Path | None = None
    models: Path | None = None
    limits: AppLimits = field(default_factory=AppLimits)
    addresses: tuple[tuple[str, str], ...] = ()
    """Origins that requests of apps may name, each with the address that stands for it."""
