"""Paging of a list; the cursors of earlier pages are stored in the tab's state."""

from dataclasses import dataclass

import streamlit


@dataclass(frozen=True, slots=True)
class Paging:
    """Where a tab is in one list."""

    name: str
    """Of the list; begins the keys of its buttons."""
    cursors: list[str]
    """Of the pages gone through, the newest page's left out. The tab's own list: what changes it, stays."""

    @property
    def cursor(self) -> str | None:
        """Of the page to be shown; None is the newest."""
        return self.cursors[-1] if self.cursors else None

    @property
    def number(self) -> int:
        """From 1, the newest."""
        return len(self.cursors) + 1

    def restart(self) -> None:
        self.cursors.clear()

    def render_buttons(self, next_cursor: str | None) -> None:
        """Into the container that is open; `next_cursor` None: there is nothing older."""
        newest, last = not self.cursors, next_cursor is None
        streamlit.button("Newest", on_click=self.restart, disabled=newest, key=f"{self.name}.newest")
        streamlit.button("Newer", on_click=self._back, disabled=newest, key=f"{self.name}.newer")
        streamlit.button("Older", on_click=self._on, args=(next_cursor,), disabled=last, key=f"{self.name}.older")

    def _back(self) -> None:
        # here and below: two clicks may come before the page is drawn again
        if self.cursors:
            self.cursors.pop()

    def _on(self, cursor: str) -> None:
        if self.cursor != cursor:
            self.cursors.append(cursor)


def paging(name: str, shown_for: str) -> Paging:
    """Of the list `name`; filters other than `shown_for` begin with the newest page."""
    state = streamlit.session_state
    if state.get(f"{name}.shown_for") != shown_for:
        state[f"{name}.shown_for"], state[f"{name}.cursors"] = shown_for, []
    return Paging(name, state[f"{name}.cursors"])
