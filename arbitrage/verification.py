"""Verification from a program: a recorded session computed again."""

from pathlib import Path

from arbitrage.failures import one_sentence
from backtest.verify.session import Verified
from launch.commands.verify import derived_in_spark, verified_session
from launch.setup.data_dir import home_folder


def verify(session: str | Path, *, home: Path | None = None) -> Verified:
    """Compute every opportunity and decision of a recorded session again from its folder.

    `session`: its id or folder. The result has counts of what was computed again (`ticks`, `opportunities`,
    `rejections`, `arbitrages`, `steps`), and `difference`, the first one, or None if all is equal. Detection runs in
    Spark, so Java is needed. Raises RefusedError if there is no such session, or it cannot be verified.

    Example: `assert verify("0f3b…").difference is None`.
    """
    folder = home or home_folder()
    with one_sentence():
        _, outcome = verified_session(folder, str(session), derived_in_spark, _nothing)
        return outcome


def _nothing(_: str) -> None:
    """Print nothing: the caller asks for what it wants to see."""
