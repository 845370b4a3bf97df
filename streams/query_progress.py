"""The rows of the topic `health`: progress reports of Spark's queries."""

import orjson
from pydantic import TypeAdapter, ValidationError

from session.lag import QueryProgress
from streams.message_format import WireError

_PROGRESS = TypeAdapter(QueryProgress)


def progress_row(progress: QueryProgress) -> bytes:
    return orjson.dumps({"kind": "query"} | _PROGRESS.dump_python(progress))


def progress_of(message: bytes) -> QueryProgress | None:
    """None for kinds of other versions. Raises WireError for an invalid row."""
    try:
        row = orjson.loads(message)
        if not isinstance(row, dict):
            raise WireError(f"a row must be an object, not {type(row).__name__}")
        return _PROGRESS.validate_python(row) if row.get("kind") == "query" else None
    except orjson.JSONDecodeError as error:
        raise WireError(f"not JSON: {error}") from error
    except ValidationError as error:
        raise WireError(f"not the progress of a query: {error.errors()[0]['msg']}") from error
