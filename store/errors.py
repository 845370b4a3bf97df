"""What can go wrong with the store, and what to do about it."""


class StoreError(Exception):
    """The store cannot do what was asked."""


class StoreUnavailableError(StoreError):
    """MongoDB was not reached or changed its primary; the same call may succeed in a moment."""


class LoginRefusedError(StoreError):
    """MongoDB does not know the user, or its password is another."""


class FencedOutError(StoreError):
    """Another process has taken over the exchange; this one must stop."""


class VersionConflictError(StoreError):
    """The document has a newer version than the one the change was made from; read it again."""

    def __init__(self, current: int, what: str | None = None) -> None:
        """Say that `what` has changed; None: the settings."""
        text = "the settings have changed: they are" if what is None else f"{what} has changed: it is"
        super().__init__(f"{text} at version {current}")
        self.current = current


class AppExistsError(StoreError):
    """There is a stream app of that name already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is an app {name} already")


class AppRunsError(StoreError):
    """A stream app that is wanted to run cannot be removed; stop it first."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the app {name} is published; stop it first")


class HistoryLostError(StoreError):
    """A change stream cannot be resumed from its token; take a new snapshot."""


class CursorError(StoreError):
    """The cursor was not issued by the store."""

    def __init__(self) -> None:
        super().__init__("The cursor is unknown; start again without it.")
