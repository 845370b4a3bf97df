"""What goes wrong with a sweep, and whether trying again helps."""


class SweepError(Exception):
    """A sweep cannot go on."""


class SweepRejectedError(SweepError):
    """What was asked for makes no sweep: one sentence that says what to change; trying again changes nothing."""


class SweepStoppedError(SweepError):
    """A part of the work died; the same command again does what is missing."""
