"""Opens a page in the user's browser, if there is a screen to show it on."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

Find = Callable[[str], str | None]
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def browser_command(
    system: str, environment: Mapping[str, str], find: Find, *, is_terminal: bool
) -> tuple[str, ...] | None:
    """Return the command to which an address is added; None if nobody looks, or there is no screen.

    `system` as `sys.platform` has it. Python's own `webbrowser` is not asked: without a screen it would run a browser
    of the terminal in place of the session's lines.
    """
    if not is_terminal or environment.get("SSH_CONNECTION"):
        return None
    if system == "darwin":
        names: tuple[str, ...] = ("open",)
    elif environment.get("WSL_DISTRO_NAME"):
        names = ("wslview", "explorer.exe")
    elif any(environment.get(name) for name in SCREENS):
        names = ("xdg-open",)
    else:
        return None
    found = next((path for path in map(find, names) if path is not None), None)
    return None if found is None else (found,)


def open_page(url: str) -> bool:
    """Open the page, and return whether a browser was asked to. It outlives us, and what it prints is thrown away."""
    command = browser_command(sys.platform, os.environ, shutil.which, is_terminal=sys.stdout.isatty())
    if command is None:
        return False
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen((*command, url), stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError:
        return False
    return True
