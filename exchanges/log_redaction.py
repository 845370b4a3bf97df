"""Loggers for libraries that log whole requests, keys and signatures among them, as soon as somebody debugs."""

import logging


def discreet_logger(name: str) -> logging.Logger:
    """Passes warnings and errors alone, whatever level it or the root is set to later: requests go out as debug."""
    logger = logging.getLogger(name)
    if not any(isinstance(one, _OnlyWarnings) for one in logger.filters):
        logger.addFilter(_OnlyWarnings())
    return logger


class _OnlyWarnings(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING
