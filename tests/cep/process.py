"""`run_cep` in a process of its own, as the supervisor starts it: `python -m tests.cep.process HOME`."""

import sys
from pathlib import Path

from cep.errors import CepError
from cep.job import run_cep
from market.session import Session


def main(home: Path) -> int:
    session = Session.from_json((home / "run.json").read_bytes())
    try:
        run_cep(session, (home / "cep_ready").touch)
    except CepError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
