"""Which folders and files parts in containers of their own share."""

import re
from typing import Any

from launch.commands.entry_points import parser_of_commands
from tests.deploy.described_session import DOCKERFILE, IMAGE_HOME

CHECKPOINTS = IMAGE_HOME / "checkpoints"


def assert_apps_reach_what_they_need(parts: dict[str, dict[str, Any]]) -> None:
    """Check that the dashboard finds the socket of the part `apps`, and the latter finds where detection began; that
    both read what apps may use from one file."""
    apps, ui, cep = (
        {words[1]: (words[0], words[2:]) for words in (row.split(":") for row in parts[name]["volumes"])}
        for name in ("apps", "ui", "cep")
    )
    assert apps[str(IMAGE_HOME)] == ui[str(IMAGE_HOME)]
    (volume, written), (read, bounds) = cep[str(CHECKPOINTS)], apps[str(CHECKPOINTS)]
    assert (volume, written, bounds) == (read, [], ["ro"])
    files = [parser_of_commands().parse_args(parts[name]["command"]).config for name in ("apps", "ui")]
    assert files[0] == files[1] is not None
    assert apps[str(files[0])] == ui[str(files[1])]
    # an empty volume belongs to whom its folder in the image does, else to root
    assert re.search(r'mkdir -p "\$ARBITRAGE_HOME/checkpoints" && chown -R arbitrage "\$ARBITRAGE_HOME"', DOCKERFILE)
