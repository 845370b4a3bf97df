"""Loggers for libraries that log whole requests, with API keys and signatures, at debug level."""

import logging


def redacting_logger(name: str) -> logging.Logger:
    """Return a logger that passes only warnings and errors, whatever level is set later."""
    logger = logging.getLogger(name)
    if not any(isinstance(one, _OnlyWarnings) for one in logger.filters):
        logger.addFilter(_OnlyWarnings())
    return logger


class _OnlyWarnings(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING
