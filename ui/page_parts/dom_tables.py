"""Tables and figures as plain HTML: screen readers and tests can read them, and they cost a page nothing.

Streamlit gives its theme's variables to components only. But its colour scheme holds everywhere, so `light-dark()`
works.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import quote

from wording.definitions import DEFINITIONS

CSS = """
<style>
.rows, .figures { --faint: color-mix(in srgb, currentColor 16%, transparent); --good: light-dark(#0d6b3d, #4bd08c);
  --bad: light-dark(#b3202e, #ff8b92); --quiet: color-mix(in srgb, currentColor 72%, transparent); font-size: 13px; }
.rows { overflow-x: auto; border: 1px solid var(--faint); border-radius: 6px; max-width: 100%; }
.rows:focus-visible { outline: 2px solid light-dark(#1f6feb, #4b9bff); }
.rows table { border-collapse: collapse; width: 100%; margin: 0; font-variant-numeric: tabular-nums; }
.rows th, .rows td { padding: 5px 10px; text-align: left; white-space: nowrap; border: 0; line-height: 1.35; }
.rows thead th { font-weight: 600; color: var(--quiet); border-bottom: 1px solid var(--faint); }
.rows tbody tr + tr > * { border-top: 1px solid var(--faint); }
.rows tbody tr.sum > * { font-weight: 600; border-top: 1px solid var(--quiet); }
.rows thead button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: inherit; min-height: 24px; }
.rows thead button:hover, .rows tr[data-open] a:hover { text-decoration: underline; }
.rows :is(button, a):focus-visible { outline: 2px solid light-dark(#1f6feb, #4b9bff); outline-offset: 1px; }
.rows tr[data-open] { cursor: pointer; }
.rows tr[data-open]:hover > * { background: color-mix(in srgb, currentColor 6%, transparent); }
.rows tr[data-open] a { color: inherit; text-decoration: none; }
.rows .number { text-align: right; }
:is(.rows th, .figures dt)[title] { text-decoration: underline dotted; text-underline-offset: 3px; cursor: help; }
.rows tbody th { font-weight: 500; }
.rows .differs { background: light-dark(#fff1cc, #3d3310); }
.rows p, .rows caption { margin: 0; padding: 12px 10px; color: var(--quiet); font-size: 13px; }
.rows caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); padding: 0; }
:is(.rows, .figures) .good { color: var(--good); } :is(.rows, .figures) .bad { color: var(--bad); }
:is(.rows, .figures) .quiet { color: var(--quiet); }
dl.figures.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(142px, 1fr)); gap: 8px;
  margin: 0; padding: 0; }
.figures div { border: 1px solid var(--faint); border-radius: 6px; padding: 8px 12px; min-height: 74px; }
.figures dt { color: var(--quiet); font-weight: 400; }
.figures dd { margin: 0; font-size: 18px; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures dd small { display: block; font-size: 12px; font-weight: 400; color: light-dark(#4d5563, #a9b1bd); }
.rows .narrow { display: none; }
@media (max-width: 520px) {
  .rows .wide { display: none; } .rows .narrow { display: inline; }
  .rows th, .rows td { padding: 5px 7px; }
}
</style>
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """`tone`: good, bad, quiet, differs or nothing; `exact`: all digits, if the text has fewer; `link`: a path of
    ours."""

    text: str
    tone: str = ""
    exact: str = ""
    link: str = ""
    narrow: str = ""
    """The text that is shown instead on a narrow page."""


Line = list[Cell | str]


@dataclass(frozen=True, slots=True)
class Head:
    """`column`: its name in an order, if the table can be sorted by it."""

    title: str
    is_number: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number at the top of a page; `beside`: small words below it."""

    name: str
    value: Cell
    beside: str = ""


def numbers(*titles: str) -> tuple[Head, ...]:
    return tuple(Head(title, is_number=True) for title in titles)


def words(*titles: str) -> tuple[Head, ...]:
    return tuple(Head(title) for title in titles)


def sortable(heads: Iterable[Head], *columns: str) -> tuple[Head, ...]:
    """Return the heads with their columns' names; an empty one cannot be sorted by."""
    return tuple(replace(head, column=column) for head, column in zip(heads, columns, strict=True))


@dataclass(frozen=True, slots=True)
class Clicks:
    """What a click on a table does (`table_clicks.js`): on a head it sorts, on a row it opens what the row is of."""

    order: str
    """The column in force, with a minus if the largest are first."""
    ids: Sequence[str]
    """Of the rows; those behind the last one, and those without an id, open nothing."""
    address: str
    """Of what an id opens, followed by the id."""


def text_of_cell(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def table(
    caption: str,
    heads: Sequence[Head],
    rows: Iterable[Sequence[Cell | str]],
    empty: str,
    *,
    has_sum: bool = False,
    clicks: Clicks | None = None,
) -> str:
    """Return HTML. The first cell of a row names it; without rows the table says `empty`; `has_sum`: the last row is a
    sum."""
    ids = () if clicks is None else clicks.ids
    linked = [_linked(row, clicks, place) for place, row in enumerate(rows)]
    lines = ["".join(_cells(heads, row)) for row in linked]
    if not lines:
        return f'{CSS}<div class="rows"><p>{escape(empty)}</p></div>'
    marks = [f' data-open="{escape(one, quote=True)}"' if one else "" for one in ids] + [""] * (len(lines) - len(ids))
    if has_sum:
        marks[-1] = ' class="sum"'
    head = "".join(_head(head, clicks) for head in heads)
    body = "".join(f"<tr{mark}>{line}</tr>" for mark, line in zip(marks, lines, strict=True))
    label = escape(caption, quote=True)
    return (
        f'{CSS}<div class="rows" role="region" aria-label="{label}" tabindex="0"><table><caption>{escape(caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figures(shown: Iterable[Figure]) -> str:
    """Return HTML: the figures side by side, as many as there is room for."""
    boxes = "".join(
        f"<div><dt{_definition(one.name)}>{escape(one.name)}</dt>"
        f'<dd class="{one.value.tone}"{_title(one.value)}>{escape(one.value.text)}'
        f"<small>{escape(one.beside)}</small></dd></div>"
        for one in shown
    )
    return f'{CSS}<dl class="figures">{boxes}</dl>'


def _head(head: Head, clicks: Clicks | None) -> str:
    title = escape(head.title)
    if clicks is None or not head.column:
        return f'<th scope="col"{_class(head, "")}{_definition(head.title)}>{title}</th>'
    is_descending = clicks.order == f"-{head.column}"
    if not is_descending and clicks.order != head.column:
        sorting, arrow, after = "none", "", head.column
    elif is_descending:
        sorting, arrow, after = "descending", " ↓", head.column
    else:
        sorting, arrow, after = "ascending", " ↑", f"-{head.column}"
    return (
        f'<th scope="col"{_definition(head.title)} aria-sort="{sorting}"{_class(head, "")}>'
        f'<button type="button" data-sort="{after}">{title}{arrow}</button></th>'
    )


def _linked(row: Sequence[Cell | str], clicks: Clicks | None, place: int) -> Sequence[Cell | str]:
    """Return the row with a link in its first cell, so that it also opens by keyboard and in another tab."""
    if clicks is None or place >= len(clicks.ids) or not clicks.ids[place]:
        return row
    first, *others = row
    known = Cell(first) if isinstance(first, str) else first
    return [replace(known, link=f"{clicks.address}{quote(clicks.ids[place], safe='')}"), *others]


def _cells(heads: Sequence[Head], row: Sequence[Cell | str]) -> Iterator[str]:
    for place, (head, cell) in enumerate(zip(heads, row, strict=True)):
        yield _cell(head, cell, "td" if place else "th")


def _cell(head: Head, cell: Cell | str, tag: str) -> str:
    known = Cell(cell) if isinstance(cell, str) else cell
    scope = ' scope="row"' if tag == "th" else ""
    text = escape(known.text)
    if known.narrow:
        text = f'<span class="wide">{text}</span><span class="narrow">{escape(known.narrow)}</span>'
    if known.link:
        text = f'<a href="{escape(known.link, quote=True)}" target="_blank" rel="noopener">{text}</a>'
    return f"<{tag}{scope}{_class(head, known.tone)}{_title(known)}>{text}</{tag}>"


def _class(head: Head, tone: str) -> str:
    names = " ".join(filter(None, ("number" if head.is_number else "", tone)))
    return f' class="{names}"' if names else ""


def _definition(name: str) -> str:
    words = DEFINITIONS.get(name)
    return "" if words is None else f' title="{escape(words, quote=True)}"'


def _title(cell: Cell) -> str:
    return f' title="{escape(cell.exact, quote=True)}"' if cell.exact else ""
