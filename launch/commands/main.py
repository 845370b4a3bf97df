"""The `arbitrage` command's outermost frame: Ctrl-C is one line, from the first import on."""

import os
import sys

WITHOUT_PANDAS = frozenset({"backtest", "sweep", "import", "sets"})
"""Commands that use Arrow and hand it nothing of pandas."""
STOPPED, TERMINATED, UNREAD = 130, 143, 141
"""Exit codes, as the shell's own."""


def main() -> None:
    """Run the command from the console. What it and its children write is for this user alone."""
    os.umask(0o077)
    code = run(sys.argv[1:], is_own_process=True)
    if code in (STOPPED, TERMINATED):
        # without Python's own end: a second Ctrl-C would leave a trace there, and one that passed through an `exec`
        # makes Python end by the signal in place of this code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(words: list[str], *, is_own_process: bool = False) -> int:
    """Run the command that these words name. Returns its exit code."""
    try:
        if is_own_process and WITHOUT_PANDAS.intersection(words[:1]):
            from launch.setup.without_pandas import leave_pandas_out

            leave_pandas_out()
        from launch.commands.entry_points import run_words

        return run_words(words)
    except BrokenPipeError:
        # nobody reads on, as with `| head`; Python would write once more as it ends
        # (https://docs.python.org/3/library/signal.html#note-on-sigpipe)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt:
        sys.stderr.write("arbitrage: stopped before it was done.\n")
        return STOPPED


if __name__ == "__main__":
    main()
