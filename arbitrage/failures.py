"""What the parts below raise, as errors of the package: one sentence, and whether the same call may succeed later."""

from collections.abc import Iterator
from contextlib import contextmanager

from backtest.simulate.trade_simulation import BacktestError
from backtest.sweep.errors import SweepRejectedError, SweepStoppedError
from backtest.verify.errors import CannotVerifyError
from cep.errors import CepCannotStartError
from launch.errors import LaunchError, StoppedError
from runtime.errors import RefusedError, UnavailableError
from tick_sets.errors import ImportRejectedError

REFUSALS = (ImportRejectedError, SweepRejectedError, CannotVerifyError, CepCannotStartError, LookupError)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Raise RefusedError or UnavailableError for what is raised meanwhile. Ctrl-C stays KeyboardInterrupt."""
    try:
        yield
    except StoppedError as error:
        raise KeyboardInterrupt(str(error)) from error
    except (BacktestError, SweepStoppedError) as error:
        raise UnavailableError(_sentence(error)) from error
    except (*REFUSALS, LaunchError) as error:
        raise RefusedError(_sentence(error)) from error
    except OSError as error:
        raise RefusedError(f"{error.filename or 'a file'}: cannot be read or written ({error.strerror}).") from error


def _sentence(error: Exception) -> str:
    # str() of a LookupError is quoted
    return f"{str(error.args[0]).rstrip('.')}."
