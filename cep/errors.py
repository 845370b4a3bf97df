"""What goes wrong in complex event processing, and whether trying again helps."""


class CepError(Exception):
    """Complex event processing cannot go on."""


class CepStoppedError(CepError):
    """A query or Spark itself died; the same process started again may go on from its checkpoint."""


class CepCannotStartError(CepError):
    """Something needed is missing or wrong; starting again changes nothing."""
