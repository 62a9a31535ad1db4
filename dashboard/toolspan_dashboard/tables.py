"""
Tables as HTML of our own: headings that a screen reader says, links that the keyboard reaches, small charts in cells.

A grid on a canvas, as `st.dataframe` draws it, has neither. Whatever comes from data passes through `markup`.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple
from urllib.parse import urlencode

from toolspan_dashboard.palette import CLASS_COLOURS
from toolspan_dashboard.words import CLASS_NAMES, markup, percent


class Cell(NamedTuple):
    """
    One cell: HTML that is safe, with a word of *note* below it; *is_bad* where it breaks a target.
    """

    html: str
    note: str = ""
    is_bad: bool = False
    is_number: bool = False


def text(value: str, *, note: str = "", is_bad: bool = False, longest: int = 80) -> Cell:
    """
    *value* as it is.
    """
    return Cell(markup(value, longest=longest), markup(note, longest=200), is_bad)


def figure(value: str, *, note: str = "", is_bad: bool = False) -> Cell:
    """
    A number, which stands at the right.
    """
    return Cell(markup(value), markup(note, longest=200), is_bad, is_number=True)


def link(label: str, page: str, parameters: Mapping[str, str], *, note: str = "") -> Cell:
    """
    A link to another page with *parameters*.
    """
    return Cell(anchor(label, page, parameters), markup(note, longest=200))


def anchor(label: str, page: str, parameters: Mapping[str, str]) -> str:
    """
    The HTML of a link to another page; the overview has no path of its own.
    """
    query = escape(urlencode(dict(parameters), errors="replace"), quote=True)
    path = "./" if page == "overview" else page
    return f'<a href="{path}{f"?{query}" if query else ""}" target="_self">{markup(label)}</a>'


def spark(values: Sequence[int], *, what: str) -> Cell:
    """
    *values* as bars, the highest as high as the cell; *what* they are is said to who cannot see them.
    """
    top = max(values, default=0)
    if top <= 0:
        return Cell('<span class="ts-dim">none</span>')
    # spans and not SVG, which the page's sanitizer takes out
    bars = "".join(f'<span style="height:{max(0, value) / top:.0%}"></span>' for value in values)
    said = markup(f"{what}: {values[0]:,} at first, {values[-1]:,} at last, {top:,} at most", longest=200)
    return Cell(f'<span class="ts-spark" role="img" aria-label="{said}" title="{said}">{bars}</span>')


def mix(errors: Mapping[str, int]) -> Cell:
    """
    Failures by class as one bar; the largest class in words below.
    """
    total = sum(errors.values())
    if not total:
        return Cell('<span class="ts-dim">none</span>')
    said = markup(
        ", ".join(f"{CLASS_NAMES[name]} {percent(count / total)}" for name, count in errors.items() if count),
        longest=300,
    )
    bars = "".join(
        f'<span style="width:{count / total:.1%};background:{CLASS_COLOURS[name]}"></span>'
        for name, count in errors.items()
        if count
    )
    largest, most = max(errors.items(), key=lambda item: item[1])
    return Cell(
        f'<span class="ts-mix" role="img" aria-label="{said}" title="{said}">{bars}</span>',
        f"{percent(most / total)} {CLASS_NAMES[largest]}",
    )


def table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, key: str) -> str:
    """
    The HTML of a table; each row begins with its name. *key* tells tables of a page apart.
    """
    is_number = [all(row[place].is_number for row in rows) for place in range(len(headings))] if rows else []
    head = "".join(
        f'<th scope="col"{_class("ts-number" if is_number and is_number[place] else "")}>{markup(heading)}</th>'
        for place, heading in enumerate(headings)
    )
    body = "".join(f"<tr>{''.join(_cell(cell, place) for place, cell in enumerate(row))}</tr>" for row in rows)
    return (
        f'<div class="ts-scroll" tabindex="0" role="region" aria-label="{markup(caption)}">'
        f'<table class="ts-table" data-table="{markup(key)}"><caption>{markup(caption, longest=200)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Cell, place: int) -> str:
    tag = 'th scope="row"' if place == 0 else "td"
    classes = " ".join(name for name, given in (("ts-number", cell.is_number), ("ts-bad", cell.is_bad)) if given)
    bad = '<span class="ts-mark" title="misses its target">▲ </span>' if cell.is_bad else ""
    note = f'<span class="ts-note">{cell.note}</span>' if cell.note else ""
    return f"<{tag}{_class(classes)}>{bad}{cell.html}{note}</{tag.split(maxsplit=1)[0]}>"


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


#: Colours come from the text's own, so that the tables are right in the light and in the dark.
STYLE: Final = """<style>
.ts-scroll{overflow-x:auto}
.ts-table{border-collapse:collapse;width:100%;font-size:0.9rem;font-variant-numeric:tabular-nums}
.ts-table caption{text-align:left;font-weight:600;padding:0 0 .4rem 0}
.ts-table th,.ts-table td{padding:.35rem .7rem .35rem 0;text-align:left;vertical-align:top;border:0;
  border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)}
.ts-table thead th{font-weight:500;opacity:.75;vertical-align:bottom;min-width:4.5rem;max-width:11rem}
.ts-table tbody th{font-weight:600}
.ts-table .ts-number{text-align:right}
.ts-table tbody .ts-number{white-space:nowrap}
.ts-bad{font-weight:700}
.ts-mark{color:#D55E00}
.ts-note{display:block;font-size:.8rem;font-weight:400;opacity:.75}
.ts-dim{opacity:.6}
.ts-spark{display:inline-flex;align-items:flex-end;gap:1px;width:6rem;height:1.4rem}
.ts-spark span{flex:1 1 0;background:currentColor;opacity:.65}
.ts-mix{display:flex;width:7rem;height:.75rem;margin-top:.3rem}
.ts-links{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;font-size:.9rem}
.ts-links a,.ts-table a{color:inherit;text-decoration:underline;text-underline-offset:2px}
</style>"""
