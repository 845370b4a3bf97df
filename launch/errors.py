"""Why a command ended without having done its work; always one sentence that says what to do."""


class LaunchError(Exception):
    """The command failed; exit code 1."""

    exit_code = 1


class CannotStartError(LaunchError):
    """Something is missing or in the way; exit code 2."""

    exit_code = 2


class NoResultError(LaunchError):
    """It could not find out what it was asked; exit code 3."""

    exit_code = 3


class StoppedError(LaunchError):
    """The user stopped it before it was done; exit code 130, as the shell's own."""

    exit_code = 130


class TerminatedError(StoppedError):
    """Another process asked it to end (SIGTERM); exit code 143, as the shell's own."""

    exit_code = 143
