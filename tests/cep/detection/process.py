"""`run_cep` in its own process, as the supervisor starts it: `python -m tests.cep.detection.process HOME [archive]`."""

import sys
from pathlib import Path

from cep.class_archive import make_class_archive
from cep.detection.job import run_cep
from cep.errors import CepError
from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins

NEVER = 1e9


def main(home: Path, with_archive: bool) -> int:
    session = with_logins(read_session(home), "cep")
    try:
        if with_archive:
            make_class_archive(session, _say)
        else:
            # no probe but the first: the log must be the test's own
            run_cep(session, (home / "cep_ready").touch, heartbeat_seconds=NEVER)
    except CepError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "archive" in sys.argv))
