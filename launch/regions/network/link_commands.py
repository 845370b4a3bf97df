"""The language of `arbitrage region`: `cut jp`, `cut us>eu`, `delay us jp 300`, `skew eu +2s`, `heal`, `kill us`.
Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import permutations
from typing import get_args

from launch.regions.network.links import MILLISECOND, TO, ChangeKind, Direction, LinkChange
from market.time_units import MICROSECONDS

WORD = re.compile(r">|[^\s>]+")
NUMBER = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
LONGEST_DELAY_MS = 60_000
SKEW = re.compile(r"([+-]?[0-9]{1,5}(?:\.[0-9]{1,3})?)(s|ms)?")
MOST_SKEW_SECONDS = 10
"""Beyond it detection's windows of 10 s would close before a row of another region is in them. A change from one end to
the other is far below the minute for which fills are read twice and sums of rows are kept open."""
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
KILL = "kill"
"""Commands that are not about links: whoever has the processes carries them out."""
ONE_WAY = (">", TO)
"""The second form needs no quotes in a shell."""


class LinkCommandError(ValueError):
    """A mistake in a command: one sentence with its column."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class _Target:
    """The directions that a command names; `is_one_way` if it names a single one."""

    ways: tuple[Direction, ...]
    is_one_way: bool
    rest: tuple[_Word, ...]


def parsed_change(line: str, regions: Sequence[str]) -> LinkChange:
    """Return the command in `line`, for a session with these regions. Raises LinkCommandError."""
    words, known = _words(line), (*KINDS, KILL)
    if not words:
        raise LinkCommandError(f"the command is empty; write {_either(known)}.")
    verb, rest = words[0], words[1:]
    kind = next((one for one in KINDS if one == verb.text), None)
    if kind is None and verb.text == KILL:
        raise _mistake(verb, "links cannot be killed, only processes; write it alone, as in arbitrage region kill us")
    if kind is None:
        raise _mistake(verb, f"there is no command {verb.text!r}{_nearest(verb.text, known)}; write {_either(known)}")
    if kind == "state":
        _check_end(rest, kind)
        return LinkChange(kind)
    if kind == "skew":
        return _skewed(line, rest, regions)
    if kind == "heal" and not rest:
        return LinkChange(kind, tuple(permutations(regions, 2)), clocks=tuple(regions))
    target = _target(line, kind, rest, regions)
    if kind in ("loss", "delay"):
        return _measured(line, kind, target)
    _check_end(target.rest, kind)
    # of one region all is healed, of a link the link
    return LinkChange(kind, target.ways, clocks=(rest[0].text,) if kind == "heal" and len(rest) == 1 else ())


def is_kill(line: str) -> bool:
    return [word.text for word in _words(line)[:1]] == [KILL]


def parsed_kill(line: str, regions: Sequence[str]) -> str:
    """Return the region that `line`, a `kill`, names. Raises LinkCommandError."""
    words = _words(line)
    region = _region(line, KILL, words[1:2], regions)
    _check_end(words[2:], KILL)
    return region


def _words(line: str) -> tuple[_Word, ...]:
    return tuple(_Word(found[0], found.start() + 1) for found in WORD.finditer(line))


def _target(line: str, kind: str, words: tuple[_Word, ...], regions: Sequence[str]) -> _Target:
    """Return the target: `jp` (all its links, both ways), `us eu` (both ways), `us>eu` or `us to eu` (only that
    way)."""
    one = _region(line, kind, words[:1], regions)
    following = words[1].text if len(words) > 1 else ""
    if following in ONE_WAY:
        other = _region(line, kind, words[2:3], regions, unlike=one)
        return _Target(((one, other),), True, words[3:])
    # all regions begin with a letter: anything else is a number, or meant to be one
    if following[:1].isalpha():
        other = _region(line, kind, words[1:2], regions, unlike=one)
        return _Target(((one, other), (other, one)), False, words[2:])
    ways = tuple(way for way in permutations(regions, 2) if one in way)
    return _Target(ways, False, words[1:])


def _region(line: str, kind: str, word: tuple[_Word, ...], regions: Sequence[str], *, unlike: str | None = None) -> str:
    if not word:
        raise _mistake(_end(line), f"{kind} needs a region here; write {_either(_others(regions, unlike))}")
    name = word[0].text
    if name not in regions:
        raise _mistake(word[0], f"there is no region {name!r}; write {_either(_others(regions, unlike))}")
    if name == unlike:
        raise _mistake(
            word[0], f"{name} has no link to itself; write {_either(_others(regions, unlike))}, or {name} alone"
        )
    return name


def _measured(line: str, kind: ChangeKind, target: _Target) -> LinkChange:
    unit = "percent" if kind == "loss" else "milliseconds" if target.is_one_way else "milliseconds of round trip"
    most = 100 if kind == "loss" else LONGEST_DELAY_MS
    if not target.rest:
        raise _mistake(_end(line), f"{kind} needs a number of {unit} here, from 0 to {most:,}")
    word = target.rest[0]
    if not NUMBER.fullmatch(word.text) or float(word.text) > most:
        raise _mistake(
            word, f"{word.text!r} is no number of {unit} from 0 to {most:,} with at most three decimals; write one"
        )
    _check_end(target.rest[1:], kind)
    number = float(word.text)
    if kind == "loss":
        return LinkChange(kind, target.ways, loss=number / 100)
    return LinkChange(kind, target.ways, delay=round(number * MILLISECOND / (1 if target.is_one_way else 2)))


def _skewed(line: str, words: tuple[_Word, ...], regions: Sequence[str]) -> LinkChange:
    region = _region(line, "skew", words[:1], regions)
    form = f"a time of up to {MOST_SKEW_SECONDS} s, as in +2s or -500ms"
    if len(words) < 2:
        raise _mistake(_end(line), f"skew needs {form} here; 0 is right again")
    found = SKEW.fullmatch(words[1].text)
    skew = 0 if found is None else round(float(found[1]) * (MILLISECOND if found[2] == "ms" else MICROSECONDS))
    if found is None or abs(skew) > MOST_SKEW_SECONDS * MICROSECONDS:
        raise _mistake(words[1], f"{words[1].text!r} is not {form}; write one")
    _check_end(words[2:], "skew")
    return LinkChange("skew", clocks=(region,), skew=skew)


def _check_end(rest: tuple[_Word, ...], kind: str) -> None:
    if rest:
        raise _mistake(rest[0], f"{rest[0].text!r} is one word too many for {kind}; leave it out")


def _end(line: str) -> _Word:
    return _Word("", len(line.rstrip()) + 2)


def _others(regions: Sequence[str], unlike: str | None) -> list[str]:
    return [name for name in regions if name != unlike]


def _mistake(word: _Word, sentence: str) -> LinkCommandError:
    return LinkCommandError(f"column {word.column}: {sentence}.")


def _either(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _nearest(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
