"""`arbitrage import` and `arbitrage sets`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from launch.commands.options.arguments import add_import
from launch.setup.data_dir import home_folder

Echo = Callable[[str], None]


class _ListFormats(argparse.Action):
    """Prints the formats and exits, like --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from launch.commands.import_sets import list_formats

        parser.exit(list_formats(_print))


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def add_imports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action=_ListFormats, nargs=0, help="list the formats")
    add_import(parser)


def run_imports(arguments: argparse.Namespace, echo: Echo) -> int:
    from launch.commands.import_sets import ImportOptions, run_import
    from tick_sets.rows.import_format import FileOptions
    from tick_sets.rows.size_rules import SizeRules

    spread = arguments.half_spread_bps
    options = ImportOptions(
        format=arguments.format,
        files=tuple(arguments.files),
        file_options=FileOptions(arguments.exchange, arguments.symbol, spread, arguments.mapping),
        region=arguments.region,
        is_fx=arguments.fx,
        alike=tuple(arguments.alike),
        name=arguments.set,
        settlement_currency=arguments.settlement,
        contract_size=arguments.contract_size,
        size_rules=SizeRules(arguments.step, arguments.min_notional),
    )
    return run_import(home_folder(), options, echo)


def add_sets(parser: argparse.ArgumentParser) -> None:
    works = parser.add_subparsers(dest="work", metavar="list | show | repair | remove")
    listed = works.add_parser("list", help="name, quotes, exchanges, time span and size of each (the default)")
    show = works.add_parser("show", help="its markets, imports, assumptions and problems")
    show.add_argument("name", metavar="NAME")
    for one in (listed, show):
        one.add_argument("--json", type=Path, metavar="FILE", help="write it as JSON, too")
    repair = works.add_parser("repair", help="repair an interrupted import; with options, change the set")
    repair.add_argument("name", metavar="NAME")
    repair.add_argument(
        "--alike", action="append", default=[], metavar="ASSET=ASSET", help="treat two assets as equal, 1:1"
    )
    repair.add_argument("--unlike", action="append", default=[], metavar="ASSET", help="undo --alike for an asset")
    repair.add_argument("--settlement", metavar="CURRENCY", help="settlement currency of profits")
    repair.add_argument("--drop", action="append", default=[], metavar="FILE", help="drop one import, by its name")
    repair.add_argument(
        "--drop-market", action="append", default=[], metavar="'EXCHANGE SYMBOL'", help="drop one market"
    )
    remove = works.add_parser("remove", help="delete sets permanently, after a confirmation")
    remove.add_argument("names", nargs="+", metavar="NAME")
    remove.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run_sets_command(arguments: argparse.Namespace, echo: Echo) -> int:
    from launch.commands.sets import SetsOptions, run_sets

    values = vars(arguments)
    names = values.get("names") or ([values["name"]] if "name" in values else [])
    options = SetsOptions(
        work=values.get("work") or "list",
        names=tuple(names),
        alike=tuple(values.get("alike", ())),
        unlike=tuple(values.get("unlike", ())),
        settlement_currency=values.get("settlement"),
        files=tuple(values.get("drop", ())),
        markets=tuple(values.get("drop_market", ())),
        is_sure=bool(values.get("yes")),
        json=values.get("json"),
    )
    return run_sets(home_folder(), options, echo)
