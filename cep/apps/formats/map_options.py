"""What a text says in `@map(…)` of a source or a sink: its options, where the columns are, and its payload. Pure."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from cep.apps.formats.typed_values import ColumnTypes
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.errors import AppUnsupportedError

PREFIX = "map."
TRANSPORT = "trp:"
"""What an attribute begins with that is a property of the message, such as its topic."""
Properties = tuple[tuple[str, str], ...]
"""Column → the property of the message that it is, such as `topic`."""
_PARTS = ("attributes.", "payload.")
_EVERYWHERE = ("map.type", "map.payload", "map.fail.on.missing.attribute")


class MapOptions:
    """`known`: names of options of this format, without `map.`; one that ends with `.` is a family. Every method raises
    AppUnsupportedError with the end's place."""

    def __init__(self, end: AppEnd, columns: ColumnTypes, *known: str) -> None:
        self.end, self.columns = end, columns
        self._options = {
            name.removeprefix(PREFIX): value
            for name, value in end.options.items()
            if name.startswith(PREFIX) and name not in _EVERYWHERE
        }
        self._payload = {"": end.options["map.payload"]} if "map.payload" in end.options else {}
        self._payload |= self._below("payload.")
        self.attributes = self._attributes()
        for name in self._options:
            if name not in known and not name.startswith((*_PARTS, *(one for one in known if one.endswith(".")))):
                raise self.unknown(name, known)

    def text(self, name: str, default: str) -> str:
        return self._options.get(name, default)

    def truth(self, name: str, *, default: bool) -> bool:
        return truth_of(name, self.text(name, str(default)), self.refused)

    def number(self, name: str, default: int, most: int) -> int:
        text = self.text(name, str(default))
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) > most:
            raise self.refused(f"{name} = {text!r}: write a whole number up to {most}")
        return int(text)

    def character(self, name: str, default: str) -> str:
        """Return one character, no backslash; a tab is written as \\t too."""
        text = {r"\t": "\t", "tab": "\t", "space": " "}.get(self.text(name, default), self.text(name, default))
        if len(text) != 1 or text in '\r\n"\\':
            raise self.refused(f"{name} = {text!r}: write one character")
        return text

    def needs_all(self, *, default: bool) -> bool:
        """Return whether a row that lacks a column is none."""
        name = "fail.on.missing.attribute"
        return truth_of(name, self.end.options.get(f"map.{name}", str(default)), self.refused)

    def family(self, prefix: str) -> Mapping[str, str]:
        """Return the options below a name, such as `regex.`."""
        return self._below(prefix)

    @property
    def payload(self) -> Mapping[str, str]:
        """The parts of `@payload`, by name; one without a name has an empty one. None of them if there is none."""
        return self._payload

    def template(self) -> str | None:
        """Return the one text of `@payload`; None if there is none."""
        if not self._payload:
            return None
        if set(self._payload) != {""}:
            raise self.refused("@payload: write one text in quotes")
        return self._payload[""]

    @property
    def places(self) -> dict[str, str]:
        """Return where in a message columns are, as `@attributes` says, by name."""
        return {name: one for name, one in self.attributes.items() if not one.startswith(TRANSPORT)}

    @property
    def properties(self) -> Properties:
        return tuple(
            (name, one.removeprefix(TRANSPORT)) for name, one in self.attributes.items() if one.startswith(TRANSPORT)
        )

    @property
    def unplaced(self) -> tuple[str, ...]:
        """Return the columns of which `@attributes` says nothing."""
        return tuple(name for name, _ in self.columns if name not in self.attributes)

    def no_attributes(self) -> None:
        if self.attributes:
            raise self.refused("@attributes says where a source's columns are; a sink has @payload")

    def no_payload(self) -> None:
        if self._payload:
            raise self.refused("@payload says what a sink writes; a source has @attributes")

    def refused(self, problem: str) -> AppUnsupportedError:
        return AppUnsupportedError(self.end.at, f"not supported: the {self.end}: @map: {problem}")

    def unknown(self, name: str, known: tuple[str, ...]) -> AppUnsupportedError:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(('type', *known))}"
        return self.refused(f"the option {name!r} is not known; {advice}")

    def _below(self, prefix: str) -> dict[str, str]:
        return {name.removeprefix(prefix): value for name, value in self._options.items() if name.startswith(prefix)}

    def _attributes(self) -> Mapping[str, str]:
        """Return where each column is, by its name. Those without a name are of the columns in their order."""
        found = self._below("attributes.")
        names = [name for name, _ in self.columns]
        unnamed = [name for name in found if not name or name.isdecimal()]
        if unnamed and len(unnamed) == len(found):
            if len(found) != len(names):
                raise self.refused(f"@attributes has {len(found)} texts for {len(names)} columns")
            return dict(zip(names, found.values(), strict=True))
        other = next((name for name in found if name not in names), None)
        if other is not None:
            near = get_close_matches(other, names, n=1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            raise self.refused(f"@attributes names {other!r}, which is no column{advice}")
        return found


def of_properties(wanted: Properties, found: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns that are properties of the message, as far as it has them."""
    return {name: found[key] for name, key in wanted if key in found} if found else {}


def truth_of(name: str, text: str, refused: Callable[[str], AppUnsupportedError]) -> bool:
    """Return what an option says. Raises what `refused` makes of the problem."""
    if text.lower() not in ("true", "false"):
        raise refused(f"{name} = {text!r}: there are true and false")
    return text.lower() == "true"
