"""`python -m launch.commands.setup`: installs what an environment needs besides the pinned packages; with `regions`
also MirrorMaker's jars for sessions with regions, with `quick` no archive of Spark's classes."""

import sys
from collections.abc import Callable
from pathlib import Path

from exchanges.ccxt.on_demand import load_ccxt_on_demand
from launch.errors import LaunchError
from launch.setup.data_dir import home_folder, make_private
from launch.setup.jar_pins import JAR_SETS, REGION_JAR_SETS, JarSet
from launch.setup.jars import resolve_jars
from store.errors import StoreError
from store.server.embedded_mongod import mongod_program


def prepare(
    home: Path, echo: Callable[[str], None], jar_sets: tuple[JarSet, ...] = JAR_SETS, is_quick: bool = False
) -> None:
    """Install mongod if there is one for this system and the jars of these sets in `home`; unless `is_quick`, compile
    detection and archive Spark's classes. Raises CannotStartError."""
    make_private(home)
    try:
        mongod_program()
    except StoreError as error:
        echo(str(error))
    resolve_jars(home, echo, jar_sets)
    if is_quick:
        return
    # imported here: they bring Spark, which each quick start would pay for, and of ccxt only its base
    load_ccxt_on_demand()
    from cep.detection.kernel.log import load_kernel
    from launch.sessions.paper import SETTLEMENT_CURRENCY
    from launch.supervisor.spark_archive import archive_classes

    echo("detection for backtests: compiling once, cached beside its source")
    load_kernel()
    archive_classes(home, SETTLEMENT_CURRENCY, echo)


def main(words: tuple[str, ...] = ()) -> int:
    if words not in ((), ("regions",), ("quick",)):
        sys.stderr.write(f"setup: {' '.join(words)} means nothing here; give nothing, `regions` or `quick`.\n")
        return 2
    jars = (*JAR_SETS, *REGION_JAR_SETS) if words == ("regions",) else JAR_SETS
    try:
        prepare(home_folder(), _say, jars, is_quick=words == ("quick",))
    except LaunchError as error:
        sys.stderr.write(f"setup: {error}\n")
        return error.exit_code
    return 0


def _say(line: str) -> None:
    """Print the line without a step number: these checks run at each start, the steps of `launch.setup.environment`
    once."""
    sys.stdout.write(f"set-up: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
