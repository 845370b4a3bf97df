"""Makes ccxt load the classes of an exchange when they are first used.

ccxt's three packages import the classes of more than a hundred exchanges, twice: half a second of CPU and some 60 MB
in each bot, which trades on one. What its `__init__` modules offer is found here by name instead; ccxt's own modules
are as they are. Measured in `docs/adr/0040-ccxt-loads-an-exchange-when-it-is-used.md`.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGES = {
    "ccxt": "ccxt.base.exchange",
    "ccxt.async_support": "ccxt.async_support.base.exchange",
    "ccxt.pro": "ccxt.async_support.base.exchange",
}
"""Package → the module of its base class."""
SHARED = ("ccxt.base.errors", "ccxt.base.decimal_to_precision")
"""Modules whose names each package offers as its own."""


def load_ccxt_on_demand() -> None:
    """To be called before anything of ccxt is imported; does nothing if something was."""
    if "ccxt" in sys.modules:
        return
    spec = find_spec("ccxt")
    if spec is None or spec.origin is None:
        return
    root = Path(spec.origin).parent
    for name in PACKAGES:
        package = _Package(name, root.joinpath(*name.split(".")[1:]))
        sys.modules[name] = package
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, package)


class _Package(ModuleType):
    """Stands for one of ccxt's packages."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self.__path__ = [str(folder)]
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__spec__.submodule_search_locations = self.__path__

    def __getattr__(self, name: str) -> object:
        """Errors and constants, the base class, or the class of an exchange."""
        if not name.startswith("_"):
            for shared in map(importlib.import_module, SHARED):
                if hasattr(shared, name):
                    return getattr(shared, name)
            wanted = PACKAGES[self.__name__] if name == "Exchange" else f"{self.__name__}.{name}"
            if find_spec(wanted) is not None:
                return getattr(importlib.import_module(wanted), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        """Make what was imported an attribute of its package: of an exchange's module its class, as with ccxt."""
        offered = getattr(value, name, None) if isinstance(value, ModuleType) else None
        super().__setattr__(name, offered if isinstance(offered, type) else value)
