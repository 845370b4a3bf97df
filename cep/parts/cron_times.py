"""Times by Quartz's cron expressions: seconds first, `?` where a day is left open. UTC."""

from datetime import UTC, datetime

from croniter import croniter
from croniter.croniter import CroniterError

FIELDS = range(6, 8)


class CronTimes:
    """Raises ValueError where the text is no cron expression."""

    def __init__(self, text: str) -> None:
        fields = text.split()
        if len(fields) not in FIELDS:
            raise ValueError("it has 6 fields, or 7 with a year: second, minute, hour, day, month, day of the week")
        try:
            self._times = croniter(text.replace("?", "*"), 0, second_at_beginning=True)
        except (CroniterError, ValueError, KeyError) as error:
            raise ValueError(str(error).rstrip(".")) from error

    def after(self, now: int) -> int | None:
        """The first after `now`, milliseconds; None where there is none."""
        self._times.set_current(datetime.fromtimestamp(now // 1_000, UTC))
        try:
            return int(self._times.get_next(float)) * 1_000
        except CroniterError:
            return None
