"""Why a bot cannot go on."""


class BotError(Exception):
    """The bot cannot do its work; trying again the same way changes nothing."""
