"""Parses the command line; a mistake in it is one sentence that names the command, and exit code 2."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from shutil import get_terminal_size
from textwrap import wrap
from typing import NamedTuple, NoReturn

A_TIME = re.compile("-[0-9]")
REQUIRED = "the following arguments are required: "
LEAST_COLUMNS = 40


class Command(NamedTuple):
    """One command of `arbitrage`; `text` is what the help says of it."""

    name: str
    text: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class CommandLine(argparse.ArgumentParser):
    """The parser of `arbitrage` and of each of its commands, which makes parsers of its own class."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]  # overloaded in typeshed
        """Parse, and let a command's own parser reject what is left over: the one above it would not know whose
        it is."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left[0]))
        return found, left

    def error(self, message: str) -> NoReturn:
        """End with the message, without the usage, which buries the one line that says what is wrong."""
        if message.startswith(REQUIRED):
            message = f"missing: {message.removeprefix(REQUIRED)}"
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}; see `{self.prog} --help`\n")

    def _parse_optional(self, arg_string):  # type: ignore[no-untyped-def]  # not in typeshed
        """Take a time such as -2s as a value, as -2 is."""
        return None if A_TIME.match(arg_string) else super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            raise argparse.ArgumentError(action, f"there is no {value!r}{_nearest(str(value), known)}")

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r}"
        name = word.partition("=")[0]
        shown = (option for option, one in self._option_string_actions.items() if one.help != argparse.SUPPRESS)
        return f"there is no {name}{_nearest(name, shown)}"


def command_line(
    description: str, listed: Mapping[str, Sequence[Command]], unlisted: Sequence[Command]
) -> argparse.ArgumentParser:
    """Return the parser of all commands; its help has those `listed`, under their titles."""
    parser = CommandLine(
        prog="arbitrage",
        usage="%(prog)s [-h] COMMAND …",
        description=description,
        epilog=_listing(listed),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # argparse has one list for all commands: ours stands in the epilog
    commands = parser.add_subparsers(
        prog="arbitrage", title="commands", dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for command in (*chain(*listed.values()), *unlisted):
        own = commands.add_parser(command.name, description=f"{command.text[0].upper()}{command.text[1:]}.")
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser


def _listing(groups: Mapping[str, Sequence[Command]]) -> str:
    width = max(len(command.name) for commands in groups.values() for command in commands) + 4
    columns = max(get_terminal_size().columns - 2 - width, LEAST_COLUMNS)
    lines: list[str] = []
    for title, commands in groups.items():
        lines += ["", f"{title}:"] if lines else [f"{title}:"]
        for command in commands:
            names = (f"  {command.name}", *[""] * len(command.text))
            lines += [f"{name:{width}}{line}" for name, line in zip(names, wrap(command.text, columns), strict=False)]
    return "\n".join(lines)


def _nearest(word: str, known: Iterable[str]) -> str:
    """Return the nearest words as the end of a sentence; all of them if few are known and none is near."""
    every = list(known)
    near = get_close_matches(word, every, n=1)
    if near:
        return f" (did you mean {near[0]}?)"
    return "" if word.startswith("-") else f", only {', '.join(every)}"
