"""The options of an app's sinks, sources and stores: which there are, and what they say. Pure."""

import re
from difflib import get_close_matches
from functools import partial

from cep.apps.formats.map_options import truth_of
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.errors import AppUnsupportedError

MAP = "map."
"""What the options of an end's format begin with; `map.*` stands for all of them."""
_HERE = ("replication.type", "collection.type")
"""How a platform copies to its regions, which says nothing here."""


class EndOptions:
    """An end's options, all of which are known. Every method raises AppUnsupportedError with the end's place."""

    def __init__(self, end: AppEnd, *known: str) -> None:
        self._end = end
        for name in end.options:
            if name.startswith(MAP) and f"{MAP}*" in known:
                # the format's
                continue
            if name not in (*known, *_HERE):
                named = [one for one in known if one != f"{MAP}*"]
                near = get_close_matches(name, named, n=1)
                advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(named)}"
                raise refused(end, f"the option {name!r} is not known; {advice}")

    def text(self, name: str, default: str) -> str:
        return self._end.options.get(name, default)

    def required(self, name: str) -> str:
        if not self._end.options.get(name):
            raise refused(self._end, f"it needs the option {name}")
        return self._end.options[name]

    def truth(self, name: str, *, default: bool) -> bool:
        return truth_of(name, self.text(name, str(default)), partial(refused, self._end))

    def number(self, name: str, default: int, most: int) -> int:
        text = self.text(name, str(default))
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
            raise refused(self._end, f"{name} = {text!r}: write a whole number from 1 to {most}")
        return int(text)


def refused(end: AppEnd, problem: str) -> AppUnsupportedError:
    return AppUnsupportedError(end.at, f"not supported: the {end}: {problem}")
