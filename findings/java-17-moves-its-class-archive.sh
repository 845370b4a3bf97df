#!/usr/bin/env bash
# OpenJDK 17.0.15: an archive of classes (CDS) that is meant to be shared between JVMs becomes each JVM's own memory.
#
# The diagnostic option ArchiveRelocationMode is 1: the archive is mapped at an address drawn at random, and every pointer in it
# is changed at the start, so almost all its pages are private and dirty. (In Java 17's first release it was 0: mapped where it
# was made for, pages stay those of the file.) The larger the archive, the more it costs: of Spark's, 178 MB, 146 were dirty.
# Output seen: "moved: 10,040 kB of classes.jsa are this JVM's own; in place: 2,384 kB".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/Waits.java" <<'JAVA'
public class Waits {
    public static void main(String[] words) throws Exception {
        System.out.println("ready");
        System.in.read();
    }
}
JAVA
javac -d "$folder" "$folder/Waits.java"
python3 - "$folder" <<'PYTHON'
import subprocess
import sys
from pathlib import Path

version = subprocess.run(("java", "-version"), capture_output=True, text=True, check=True).stderr
if '"17.0.' not in version:
    print(f"not tried: it is about Java 17, here is {version.splitlines()[0]}")
    raise SystemExit(0)


def dirty_kilobytes(*options: str) -> int:
    """Kilobytes of the JVM's archive of classes that it wrote to."""
    command = ("java", "-XX:+UseSerialGC", "-Xshare:on", *options, "-cp", sys.argv[1], "Waits")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as java:
        assert java.stdin is not None and java.stdout is not None
        assert java.stdout.readline() == "ready\n"
        dirty, is_archive = 0, False
        for line in Path(f"/proc/{java.pid}/smaps").read_text().splitlines():
            if "-" in line.split()[0] and not line.split()[0].endswith(":"):
                is_archive = line.endswith(".jsa")
            elif is_archive and line.startswith("Private_Dirty:"):
                dirty += int(line.split()[1])
        java.stdin.close()
    return dirty


moved = dirty_kilobytes()
in_place = dirty_kilobytes("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
print(f"moved: {moved:,} kB of classes.jsa are this JVM's own; in place: {in_place:,} kB")
assert moved > 2 * in_place, "the archive is no longer moved by default"
PYTHON
