"""Errors of complex event processing, and whether a restart helps."""


class CepError(Exception):
    """Complex event processing cannot go on."""


class CepStoppedError(CepError):
    """A query or Spark itself died; a restarted process continues from its checkpoint."""


class CepCannotStartError(CepError):
    """A requirement is missing or wrong; a restart changes nothing."""
