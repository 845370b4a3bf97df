"""Paging of a list; the cursors of earlier pages are stored in the tab's state."""

from dataclasses import dataclass

import streamlit

BY_TIME = ("Newest", "Newer", "Older")
BY_VALUE = ("First", "Previous", "Next")
"""Of a list that is not in the order of time."""


@dataclass(frozen=True, slots=True)
class Paging:
    """A tab's position in one list."""

    name: str
    """The list's name; the keys of its buttons begin with it."""
    cursors: list[str]
    """The cursors of the pages gone through, without the newest page's. It is the tab's own list, so changes to it
    last."""

    @property
    def cursor(self) -> str | None:
        """The cursor of the page to show; None is the newest."""
        return self.cursors[-1] if self.cursors else None

    @property
    def number(self) -> int:
        """The page's number; the newest is 1."""
        return len(self.cursors) + 1

    def restart(self) -> None:
        self.cursors.clear()

    def render_buttons(self, next_cursor: str | None, words: tuple[str, str, str] = BY_TIME) -> None:
        """Draw the buttons into the open container; `next_cursor` None: there is nothing older. `words`: to the first,
        the previous and the next page."""
        newest, last = not self.cursors, next_cursor is None
        first, previous, following = words
        streamlit.button(first, on_click=self.restart, disabled=newest, key=f"{self.name}.newest")
        streamlit.button(previous, on_click=self._back, disabled=newest, key=f"{self.name}.newer")
        streamlit.button(following, on_click=self._on, args=(next_cursor,), disabled=last, key=f"{self.name}.older")

    def _back(self) -> None:
        # here and below: two clicks may come before the page is drawn again
        if self.cursors:
            self.cursors.pop()

    def _on(self, cursor: str) -> None:
        if self.cursor != cursor:
            self.cursors.append(cursor)


def paging(name: str, shown_for: str) -> Paging:
    """Return the paging of the list `name`; with filters other than `shown_for` it begins at the newest page."""
    state = streamlit.session_state
    if state.get(f"{name}.shown_for") != shown_for:
        state[f"{name}.shown_for"], state[f"{name}.cursors"] = shown_for, []
    return Paging(name, state[f"{name}.cursors"])
