"""The order of a table and the row that is open: chosen by clicks on the table itself, and kept in the tab's state."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit

from ui.page_parts.own_component import own_component

SORT = "sort"
"""Parameter of the address, as in REST."""
NEWEST_FIRST = "-time"


@dataclass(frozen=True, slots=True)
class TableSorting:
    """A tab's order of one list."""

    name: str
    """The list's; the keys of the tab's state begin with it."""
    columns: Sequence[str]
    opens: str
    """Key of the tab's state with the id of the row that was opened last."""

    @property
    def order(self) -> str:
        """A column, with a minus if the largest are first. The address counts when the page is opened."""
        state, asked = streamlit.session_state, streamlit.query_params.get(SORT)
        kept: str | None = state.get(self._key)
        if kept is None and asked is not None and asked.removeprefix("-") in self.columns:
            kept = state[self._key] = asked
        return kept or NEWEST_FIRST

    @property
    def is_by_time(self) -> bool:
        return self.order == NEWEST_FIRST

    def render(self) -> None:
        """Mount what listens to the clicks; it has no size."""
        own_component("table_clicks")(key=self._clicks, on_sort_change=self._sort, on_open_change=self._open)

    def _sort(self) -> None:
        asked = str(streamlit.session_state[self._clicks]["sort"] or "")
        if asked.removeprefix("-") in self.columns:
            streamlit.session_state[self._key] = asked
            streamlit.query_params[SORT] = asked

    def _open(self) -> None:
        identity = streamlit.session_state[self._clicks]["open"]
        if identity:
            streamlit.session_state[self.opens] = str(identity)

    @property
    def _key(self) -> str:
        return f"{self.name}.sort"

    @property
    def _clicks(self) -> str:
        return f"{self.name}.clicks"
