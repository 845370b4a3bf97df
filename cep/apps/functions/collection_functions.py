"""`map:`, `list:` and `json:`. What changes a value gives a new one: rows that share the old one keep it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from jsonpath_ng.exceptions import JSONPathError
from jsonpath_ng.parser import parse

from cep.apps.functions.signature import NamedFunction, function
from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.values import converted


def map_of(*parts: Any) -> dict[Any, Any]:
    """`map:create(key, value, …)`."""
    if len(parts) % 2:
        raise ValueError("map:create() takes keys and values in turn")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def without(values: Mapping[Any, Any], key: Any) -> dict[Any, Any]:
    return {one: value for one, value in values.items() if one != key}


def gotten(values: Mapping[Any, Any], key: Any, *default: Any) -> Any:
    return values.get(key, default[0] if default else None)


def element(values: list[Any], place: int) -> Any:
    return values[place] if 0 <= place < len(values) else None


def added(values: list[Any], *given: Any) -> list[Any]:
    """`list:add(list, value)`, or before a place: `list:add(list, place, value)`."""
    if len(given) == 1:
        return [*values, given[0]]
    place, value = given
    return [*values[:place], value, *values[place:]]


def position(values: list[Any], value: Any) -> int:
    return values.index(value) if value in values else -1


@lru_cache(maxsize=256)
def _path(text: str) -> Any:
    """Raise ValueError."""
    try:
        return parse(text if text.startswith("$") else f"$.{text}")
    except JSONPathError as error:
        raise ValueError(f"{text!r} is no path: {error}") from error


def loaded(value: Any) -> Any:
    """Raise ValueError if a text is no JSON."""
    return orjson.loads(value) if isinstance(value, str) else value


def dumped(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()


def at_path(value: Any, path: str) -> Any:
    """None if there is nothing."""
    found = _path(path).find(loaded(value))
    return found[0].value if len(found) == 1 else [one.value for one in found] if found else None


def exists(value: Any, path: str) -> bool:
    return bool(_path(path).find(loaded(value)))


def set_at(value: Any, path: str, given: Any, *key: str) -> Any:
    """At the path, or below it under the key."""
    whole = orjson.loads(dumped(loaded(value)))
    where = path if not key else f"{path}.{key[0]}"
    return _path(where).update_or_create(whole, given)


def _typed(name: str, type_: ValueType) -> NamedFunction:
    def found(value: Any, path: str) -> Any:
        there = at_path(value, path)
        if type_ == "string" and isinstance(there, dict | list):
            return dumped(there)
        return None if isinstance(there, dict | list) else converted(there, type_)

    return function(f"json:{name}", f"any string -> {type_}", found)


GETTERS: Mapping[str, ValueType] = {
    "getString": "string",
    "getInt": "int",
    "getLong": "long",
    "getFloat": "float",
    "getDouble": "double",
    "getBool": "bool",
}
COLLECTION_FUNCTIONS = (
    function("map:create", "any* -> object", map_of, takes_null=True),
    function("map:put", "object any any -> object", lambda values, key, value: {**values, key: value}),
    function("map:get", "object any any? -> object", gotten),
    function("map:remove", "object any -> object", without),
    function("map:size", "object -> int", len),
    function("map:isMap", "any -> bool", lambda value: isinstance(value, dict), takes_null=True),
    function("map:isEmpty", "object -> bool", lambda values: not values),
    function("map:containsKey", "object any -> bool", lambda values, key: key in values),
    function("map:containsValue", "object any -> bool", lambda values, value: value in values.values()),
    function("map:keys", "object -> object", list),
    function("map:toJSON", "object -> string", dumped),
    function("map:createFromJSON", "string -> object", loaded),
    function("list:create", "any* -> object", lambda *values: list(values), takes_null=True),
    function("list:add", "object any any? -> object", added),
    function("list:get", "object int -> object", element),
    function("list:size", "object -> int", len),
    function("list:isList", "any -> bool", lambda value: isinstance(value, list), takes_null=True),
    function("list:isEmpty", "object -> bool", lambda values: not values),
    function("list:contains", "object any -> bool", lambda values, value: value in values),
    function("list:indexOf", "object any -> int", position),
    function("list:sort", "object -> object", sorted),
    function("json:getObject", "any string -> object", at_path),
    function("json:isExists", "any string -> bool", exists),
    function("json:toObject", "string -> object", loaded),
    function("json:toString", "object -> string", dumped),
    function("json:setElement", "any string any string? -> object", set_at),
    *(_typed(name, type_) for name, type_ in GETTERS.items()),
)
