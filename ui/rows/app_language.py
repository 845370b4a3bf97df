"""The language of stream apps, as an editor needs it."""

from typing_extensions import TypedDict


class AppColumnRow(TypedDict):
    name: str
    type: str


class AppStreamRow(TypedDict):
    """A stream of the product, which an app reads by its name; or one of `actions`, by whose rows an app acts on the
    session if the operator allows it."""

    name: str
    description: str
    columns: list[AppColumnRow]


class AppFunctionRow(TypedDict):
    """`arguments` as the documentation has them: `(string, any, [any])`; `example` may be empty. A function of a stream
    begins with `#` and gives `rows`."""

    name: str
    arguments: str
    gives: str
    description: str
    example: str


class AppWindowRow(TypedDict):
    """`name` as Siddhi writes it, `worker_name` as the Stream Worker language does; empty if it has none."""

    name: str
    worker_name: str
    arguments: str
    description: str


class AppAnnotationRow(TypedDict):
    text: str
    place: str
    description: str


class AppTemplateRow(TypedDict):
    """A shipped app; `cases` is JSONL, each line a test case."""

    name: str
    description: str
    text: str
    cases: str


class AppLanguageRow(TypedDict):
    streams: list[AppStreamRow]
    actions: list[AppStreamRow]
    functions: list[AppFunctionRow]
    windows: list[AppWindowRow]
    annotations: list[AppAnnotationRow]
    keywords: list[str]
    types: list[str]
    templates: list[AppTemplateRow]
