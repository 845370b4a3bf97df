"""Patterns of the lines that common programs write to their logs, for `@map(type = 'text', pattern = '…')`. A column is
the group with its name; `-` is null where the program means that.

Sources: Apache's and nginx's documentation of `common` and `combined`, RFC 3164, RFC 5424, log4j's PatternLayout
`%d %-5p [%t] %c - %m`, Python's `logging.basicConfig` with `%(asctime)s`.
"""

from collections.abc import Mapping

_COMMON = (
    r"^(?P<host>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    r'"(?:(?P<method>[A-Z]+) (?P<path>\S+)(?: (?P<protocol>[^"]+))?|(?P<request>(?:[^"\\]|\\.)*))" '
    r"(?P<status>\d{3}) (?P<bytes>\d+|-)"
)
_QUOTED = r'"(?P<{}>(?:[^"\\]|\\.)*)"'
LOG_PATTERNS: Mapping[str, str] = {
    "common": _COMMON + r"$",
    "combined": _COMMON + " " + _QUOTED.format("referer") + " " + _QUOTED.format("agent") + r".*$",
    "syslog": (
        r"^(?:<(?P<priority>\d{1,3})>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S+) "
        r"(?P<program>[^:\[\s]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)$"
    ),
    "syslog5424": (
        r"^<(?P<priority>\d{1,3})>(?P<version>\d{1,2}) (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) "
        r'(?P<message_id>\S+) (?P<data>-|(?:\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])+)(?: (?P<message>.*))?$'
    ),
    "log4j": (
        r"^(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?\S*) +(?P<level>[A-Z]+) +\[(?P<thread>[^\]]*)\] "
        r"(?P<logger>\S+) +- (?P<message>.*)$"
    ),
    "python": (
        r"^(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)[ :-]+(?P<level>[A-Z]+)[ :-]+"
        r"(?P<logger>[\w.]+)[ :-]+(?P<message>.*)$"
    ),
}
NOTHING = "-"
"""What these programs write if there is nothing."""
