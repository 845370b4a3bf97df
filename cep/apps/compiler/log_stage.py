"""The stream function `#log`: rows pass as they are, and each is reported to Python's logger `apps`."""

import logging
from collections.abc import Callable, Sequence
from typing import cast

from cep.apps.compiler.expression_code import function_of
from cep.apps.compiler.stages import MakeStage
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import Chunk, Receiver, Row
from cep.apps.parts.scope import Code, Environment

LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": None,
}
log = logging.getLogger("apps")


def log_stage(call: FunctionCall, codes: Sequence[Code], environment: Environment) -> MakeStage:
    """Return the log stage of `#log()`, `#log('text')`, `#log('WARN', 'text')`, and with false at the end without the
    row itself. Raises AppTextError."""
    given = list(codes)
    shows_row = given.pop().constant is not False if given and given[-1].type == "bool" else True
    if len(given) > 2 or any(code.type != "string" for code in given):
        raise AppTextError(call.at, "#log() takes a text, before it a level such as 'WARN', after it true or false")
    level = _level(call, given.pop(0)) if len(given) == 2 else logging.INFO
    source = given[0].source if given else "None"
    text_of = cast(Callable[[Row, int], str | None], function_of(source, "row, at", environment))

    def make(context: PartContext, emit: Receiver) -> Receiver:
        owner = context.app.owner

        def receive(chunk: Chunk) -> None:
            for _, at, row in chunk if level is not None else ():
                words = [owner, text_of(row, at), str(row) if shows_row else None]
                log.log(level or 0, ": ".join(word for word in words if word), extra={"app_time": at})
            emit(chunk)

        return receive

    return make


def _level(call: FunctionCall, code: Code) -> int | None:
    name = str(code.constant).upper()
    if name not in LEVELS:
        raise AppTextError(call.arguments[0].at, f"a level is expected here: one of {', '.join(LEVELS)}")
    return LEVELS[name]
