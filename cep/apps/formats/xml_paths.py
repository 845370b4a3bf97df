"""Paths into XML, a small part of XPath: `/events/event`, `//item`, `a/b/@c`, `a[2]`, `a[@kind='x']/text()`, `x:a`.

A name without a prefix is that of elements of any namespace: many feeds have a default one that their readers do not
know. A prefix is one of those that the text gives.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cep.apps.formats.xml_tree import XmlElement

_NAME = r"(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*|\*)"
_STEP = re.compile(
    rf"""(//|/|)(?:(\.)|{_NAME}((?:\[[^\]]*\])?)|@{_NAME}|text\(\))""",
)
_PLACE = re.compile(r"\[\s*([1-9][0-9]{0,5}|\*)\s*\]")
_KIND = re.compile(rf"""\[\s*@{_NAME}\s*=\s*(?:'([^']*)'|"([^"]*)")\s*\]""")


@dataclass(frozen=True, slots=True)
class XmlStep:
    """One step down. `name`: `*` for any; `space`: None for any. `is_deep`: at any depth. `number`: which of those
    with one parent, from 1. `kind`: an attribute that it has, and its value. `is_attribute`: the attribute of what is
    here. `is_list`: all there are, as a list."""

    name: str
    space: str | None = None
    is_deep: bool = False
    number: int | None = None
    kind: tuple[str | None, str, str] | None = None
    is_attribute: bool = False
    is_list: bool = False


def xml_path(text: str, spaces: Mapping[str, str]) -> tuple[XmlStep, ...]:
    """`spaces`: prefix → namespace. Raises ValueError if the text is no such path."""
    rest, steps = text.strip(), list[XmlStep]()
    while rest:
        found = _STEP.match(rest)
        if found is None or (steps and not found[1]) or (steps and steps[-1].is_attribute):
            raise ValueError(f"{text!r} is no path; write a/b, /a/b, //b, a[2], a[@b='c'], a/@b or a/text()")
        rest = rest[found.end() :]
        if found[4] is not None:
            steps.append(_element(found, spaces, text))
        elif found[7] is not None:
            steps.append(XmlStep(found[7], _space(found[6], spaces), found[1] == "//", is_attribute=True))
    return tuple(steps)


def xml_elements(root: XmlElement, steps: tuple[XmlStep, ...]) -> list[XmlElement]:
    """Return the elements of an absolute path: its first step is the root itself, unless that is `//`."""
    if not steps:
        return [root]
    around = XmlElement("", "", children=[root])
    return _found(around, steps)


def xml_texts(element: XmlElement, steps: tuple[XmlStep, ...]) -> list[XmlElement | str]:
    """Return what is there, below `element`: elements, or texts of an attribute."""
    if not steps or not steps[-1].is_attribute:
        return list(_found(element, steps))
    last = steps[-1]
    owners = _parents(_found(element, steps[:-1]), last)
    return [value for owner in owners for value in _attributes(owner, last.space, last.name)]


def _found(element: XmlElement, steps: tuple[XmlStep, ...]) -> list[XmlElement]:
    found = [element]
    for step in steps:
        found = [one for parent in _parents(found, step) for one in _chosen(parent.children, step)]
    return found


def _parents(found: list[XmlElement], step: XmlStep) -> list[XmlElement]:
    """Return what the step goes down from: with `//` each element once, though it is below several that were found;
    else a few of those steps would find it billions of times."""
    if not step.is_deep:
        return found
    seen, waiting = dict[int, XmlElement](), list(reversed(found))
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            waiting.extend(reversed(one.children))
    return list(seen.values())


def _chosen(children: list[XmlElement], step: XmlStep) -> list[XmlElement]:
    fits = [one for one in children if _fits(one, step)]
    return fits if step.number is None else fits[step.number - 1 : step.number]


def _fits(element: XmlElement, step: XmlStep) -> bool:
    if step.name not in ("*", element.name) or step.space not in (None, element.space):
        return False
    return step.kind is None or step.kind[2] in _attributes(element, *step.kind[:2])


def _attributes(element: XmlElement, space: str | None, name: str) -> list[str]:
    return [
        value
        for (own_space, own), value in element.attributes.items()
        if name in ("*", own) and space in (None, own_space)
    ]


def _element(found: re.Match[str], spaces: Mapping[str, str], text: str) -> XmlStep:
    step = XmlStep(found[4], _space(found[3], spaces), found[1] == "//")
    if not found[5]:
        return step
    place, kind = _PLACE.fullmatch(found[5]), _KIND.fullmatch(found[5])
    if place is not None and place[1] == "*":
        return XmlStep(step.name, step.space, step.is_deep, is_list=True)
    if place is not None:
        return XmlStep(step.name, step.space, step.is_deep, int(place[1]))
    if kind is None:
        raise ValueError(f"{text!r}: {found[5]} is not read; write [2], [*] or [@name='value']")
    value = kind[3] if kind[3] is not None else kind[4]
    return XmlStep(step.name, step.space, step.is_deep, kind=(_space(kind[1], spaces), kind[2], value))


def _space(prefix: str | None, spaces: Mapping[str, str]) -> str | None:
    if prefix is None:
        return None
    if prefix not in spaces:
        raise ValueError(f"the prefix {prefix!r} has no namespace; write namespaces = '{prefix}=https://…'")
    return spaces[prefix]
