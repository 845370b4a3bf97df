"""Java's answer to options of which it may not know each one."""

import subprocess


def java_starts_without(option: str, options: tuple[str, ...]) -> None:
    """Check that Java starts with these options if it knows all but `option`, which is renamed to one of no Java."""
    unknown = [one.replace(option, "KnownToNoJava") for one in options]
    assert unknown != list(options)
    answer = subprocess.run(("java", *unknown, "-version"), capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
