"""What can go wrong with a feed or a file of recorded quotes, and what to do about it."""


class FeedError(Exception):
    """A price feed cannot go on."""


class FeedDroppedError(FeedError):
    """The connection was lost, silent or talked nonsense; subscribing anew may succeed in a moment."""


class FeedRefusedError(FeedError):
    """The exchange said no to the subscription; trying again changes nothing."""


class ImportRefusedError(Exception):
    """A recording cannot be used: one sentence that names the file, and the line where there is one."""
