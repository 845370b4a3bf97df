"""Options of `arbitrage app`, and of the parts that run published apps and check their texts."""

import argparse
from pathlib import Path

from launch.commands.options.arguments import positive, region_names


def add_app(command: argparse.ArgumentParser) -> None:
    works = command.add_subparsers(dest="work", required=True, metavar="WORK")
    _add_texts(works)
    _add_publishing(works)


def _add_texts(works: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = works.add_parser("check", help="say what is wrong in an app's text, and where; nothing is run")
    check.add_argument("file", type=Path, help="the app's text")
    explain = works.add_parser(
        "explain", help="say what an app is made of, what it keeps, where it runs and what comes out"
    )
    explain.add_argument("file", type=Path, help="the app's text")
    run = works.add_parser("run", help="run apps on the running session's streams, or over recorded ones")
    run.add_argument("files", type=Path, nargs="+", metavar="FILE", help="an app's text; all of them share a process")
    run.add_argument("--replay", metavar="SET|SESSION", help="over a tick set or a recorded session instead")
    run.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, a JSON object a line")
    run.add_argument(
        "--var", action="append", default=[], metavar="NAME=VALUE", help="what context:getVar gives; may be repeated"
    )
    run.add_argument("--seconds", type=positive, help="end after so long (default: with Ctrl-C or the session)")
    run.add_argument(
        "--regions",
        type=region_names,
        default=(),
        metavar="NAME,NAME,…",
        help="in these regions of the session, each on its own streams; context:getVar('region') says which",
    )
    run.add_argument(
        "--from", type=Path, dest="savepoint", metavar="SAVEPOINT", help="go on from what the app had kept there"
    )
    snapshot = works.add_parser("snapshot", help="keep what a running app has kept, as a file to go on from")
    snapshot.add_argument(
        "app", metavar="FILE|NAME", help="the app's text, as it was run, or the name of a published app"
    )
    snapshot.add_argument(
        "savepoint", type=Path, nargs="?", help="the file to write; that of a published app gets a name of its own"
    )
    snapshot.add_argument("--var", action="append", default=[], metavar="NAME=VALUE", help="as it was run")
    test = works.add_parser("test", help="run an app's cases on a clock of their own, and compare the rows")
    test.add_argument("file", type=Path, help="the app's text")
    test.add_argument("cases", type=Path, help="cases, a JSON object a line")
    demo = works.add_parser("demo", help="run apps that ship over made-up rows, and print what they find")
    demo.add_argument("name", choices=("engagement",), help="families of a school: engagement, payments, invoices")
    for work in (check, explain, run, snapshot, test):
        add_configured(work)


def _add_publishing(works: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    publish = works.add_parser("publish", help="store an app's text as a new version, and run it in every session")
    publish.add_argument("app", metavar="FILE|NAME", help="the app's text, or the name of one that is stored")
    publish.add_argument("--version", type=int, help="of a stored app: this one, to roll back (default: the newest)")
    publish.add_argument("--empty", action="store_true", help="begin with nothing of what the version before has kept")
    publish.add_argument(
        "--from", dest="savepoint", default="", metavar="SAVEPOINT", help="begin with what the app had kept there"
    )
    publish.add_argument(
        "--regions",
        type=region_names,
        metavar="NAME,NAME,…",
        help="in these regions of the session (default: where it ran, at first in all); name all to have it everywhere",
    )
    publish.add_argument("--note", default="", help="what is new in it")
    add_configured(publish)
    for work, text in (
        ("stop", "stop a published app; its state stays for the session"),
        ("start", "start a stopped or failed app again"),
        ("versions", "list the versions of an app"),
    ):
        works.add_parser(work, help=text).add_argument("app", metavar="NAME", help="of a stored app")
    works.add_parser("list", help="list the stored apps and their states")
    status = works.add_parser("status", help="say what published apps do at this moment")
    status.add_argument("app", metavar="NAME", nargs="?", help="of a stored app (default: all that run)")


def add_configured(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
