"""Frames made wrong in every way that a line, a proxy or a changed protocol makes them wrong; all from one seed."""

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random

STRANGE: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1.5, -0.0, 10**18, 10**40, -(10**25), 1e308, 5e-324, float("nan"), float("inf")),
    *(
        "",
        "0",
        "-1",
        "NaN",
        "Infinity",
        "1e400",
        "1e-400",
        "9" * 50,
        "0x10",
        "1_000",
        " 1",
        "1.2.3",
        "buy",
        "\ud800",
        "\x00",
    ),
    *([], {}, [[]], [{}], [None], ["1"], ["1", "2"], [["1", "2"]], {"price": "1"}, {"message": {}}, {"code": 1}),
)


def mutated(random: Random, frames: list[str]) -> str | bytes:
    """One of `frames`, wrong or as it is: a right one at the wrong moment is a fault too."""
    frame = random.choice(frames)
    return random.choice(_MUTATIONS)(random, frame)


def _as_it_is(_random: Random, frame: str) -> str:
    return frame


def _with_flipped_bits(random: Random, frame: str) -> str | bytes:
    changed = bytearray(frame.encode())
    for _ in range(random.randint(1, 4)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed) if random.random() < 0.5 else changed.decode(errors="replace")


def _cut_off(random: Random, frame: str) -> str:
    return frame[: random.randrange(len(frame))]


def _with_a_piece_twice_or_missing(random: Random, frame: str) -> str:
    start, end = sorted(random.randrange(len(frame) + 1) for _ in range(2))
    return frame[:end] + frame[start:] if random.random() < 0.5 else frame[:start] + frame[end:]


def _with_digits_changed(random: Random, frame: str) -> str:
    """Still JSON, still numbers, but others."""
    digits = [place for place, character in enumerate(frame) if character.isdigit()]
    changed = list(frame)
    for place in random.sample(digits, min(len(digits), random.randint(1, 3))):
        changed[place] = random.choice("0123456789")
    return "".join(changed)


def _with_strange_fields(random: Random, frame: str) -> str:
    tree = json.loads(frame)
    for _ in range(random.randint(1, 3)):
        tree = _changed(random, tree)
    return json.dumps(tree)


def _changed(random: Random, tree: object) -> object:
    """Return the tree with one value replaced, removed, repeated or swapped, anywhere in it."""
    places = list(_places(tree))
    if not places:
        return deepcopy(random.choice(STRANGE))
    parent, key = random.choice(places)
    if isinstance(parent, dict):
        _change_object(random, parent, key)
    elif isinstance(parent, list) and isinstance(key, int):
        _change_list(random, parent, key)
    return tree


def _places(tree: object) -> list[tuple[object, object]]:
    found: list[tuple[object, object]] = []
    branches: list[object] = [tree]
    while branches:
        branch = branches.pop()
        if isinstance(branch, dict):
            found += [(branch, key) for key in branch]
            branches += branch.values()
        elif isinstance(branch, list):
            found += [(branch, place) for place in range(len(branch))]
            branches += branch
    return found


def _change_object(random: Random, parent: dict[object, object], key: object) -> None:
    action = random.randrange(4)
    other = random.choice(list(parent))
    if action == 0:
        del parent[key]
    elif action == 1:
        parent[key], parent[other] = parent[other], parent[key]
    elif action == 2:
        parent[str(key) + "x"] = parent.pop(key)
    else:
        parent[key] = deepcopy(random.choice(STRANGE))


def _change_list(random: Random, parent: list[object], place: int) -> None:
    action = random.randrange(4)
    if action == 0:
        del parent[place]
    elif action == 1:
        parent.insert(random.randrange(len(parent) + 1), parent[place])
    elif action == 2:
        random.shuffle(parent)
    else:
        parent[place] = deepcopy(random.choice(STRANGE))


_MUTATIONS: tuple[Callable[[Random, str], str | bytes], ...] = (
    _as_it_is,
    _with_flipped_bits,
    _cut_off,
    _with_a_piece_twice_or_missing,
    _with_digits_changed,
    _with_strange_fields,
    _with_strange_fields,
)
