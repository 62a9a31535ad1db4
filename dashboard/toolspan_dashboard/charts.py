"""
The charts: rows in, an Altair chart out, and nothing else.

Axes of time show the zone that was asked for: Vega knows the browser's own and UTC only, so a moment is handed over as
the wall clock of its zone, drawn as if that were UTC.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt

from toolspan.records import Call
from toolspan_dashboard.palette import ALARM, CALM, CLASS_COLOURS, OK, SERIES
from toolspan_dashboard.spread import PERCENTILES, Percentiles
from toolspan_dashboard.view import moment
from toolspan_dashboard.words import CLASS_NAMES, inert

#: Calls of a task that a timeline draws; the table below it has all.
MOST_DRAWN: Final = 60
_HEIGHT: Final = 300
_ROW_HEIGHT: Final = 26
#: Of a chart's height legend and axis take so much.
_AROUND: Final = 190
_MS: Final = 10**6
#: p50, p95, p99 and max in turn: lines that differ without their colour.
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

Values = Sequence[Mapping[str, object]]


def retries_distribution(counts: Mapping[int, int]) -> alt.Chart:
    """
    Resolved tasks by how often they retried the tool; more than one retry is the tail.
    """
    total = sum(counts.values())
    values = [
        {
            "retries": retries,
            "tasks": tasks,
            "share": tasks / total,
            "part": "tail: more than one retry" if retries > 1 else "up to one retry",
        }
        for retries, tasks in counts.items()
    ]
    chart: alt.Chart = (
        _chart(values)
        .mark_bar()
        .encode(
            x=alt.X("retries:O", title="Retries in a resolved task", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("tasks:Q", title="Resolved tasks"),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=["up to one retry", "tail: more than one retry"], range=[CALM, ALARM]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["retries:O", "tasks:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(height=_HEIGHT)
    )
    return chart


def retries_over_time(parts: Sequence[Percentiles], *, zone: str) -> alt.Chart:
    """
    The percentiles of retries per resolved task, by when the tasks ended.
    """
    values = [
        {"at": _wall_clock(part.begin_ns, zone), "percentile": name, "retries": value, "tasks": part.tasks}
        for part in parts
        for name, value in part.values.items()
    ]
    names = list(PERCENTILES)
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolSize=400)
    chart: alt.Chart = (
        _chart(values)
        .mark_line(point=alt.OverlayMarkDef(size=40, filled=True))
        .encode(
            x=alt.X(
                "at:T",
                title=f"Task ended ({zone})",
                scale=alt.Scale(type="utc"),
                axis=alt.Axis(format="%d %b %H:%M", tickCount=5, labelOverlap=True),
            ),
            y=alt.Y("retries:Q", title="Retries in a resolved task", axis=alt.Axis(tickMinStep=1, format="d")),
            color=alt.Color("percentile:N", scale=alt.Scale(domain=names, range=list(SERIES)), legend=legend),
            strokeDash=alt.StrokeDash(
                "percentile:N", scale=alt.Scale(domain=names, range=[list(dash) for dash in _DASHES]), legend=legend
            ),
            tooltip=["percentile:N", "retries:Q", alt.Tooltip("tasks:Q", title="resolved tasks")],
        )
        .properties(height=_HEIGHT)
    )
    return chart


def timeline(calls: Sequence[Call], *, started_ns: int) -> alt.LayerChart:
    """
    The first *calls* of a task as bars below one another, and a line from each failure to the call that answers it.
    """
    drawn = calls[:MOST_DRAWN]
    places = {call.span_id: place for place, call in enumerate(drawn)}
    last_ns = max((call.ended_ns for call in drawn), default=started_ns)
    least_ns = max(1, (last_ns - started_ns) // 250)
    rows = [_bar(place, call, started_ns, least_ns) for place, call in enumerate(drawn)]
    links = [
        _link(drawn[places[call.follows]], places[call.follows], call, place, started_ns)
        for place, call in enumerate(drawn)
        if call.follows is not None and call.follows in places
    ]
    places_down = alt.Scale(domain=[str(row["call"]) for row in rows])
    x = alt.X("start:Q", title="Milliseconds since the task began", axis=alt.Axis(format=",d"))
    y = alt.Y(
        "call:N",
        sort=None,
        scale=places_down,
        title=None,
        axis=alt.Axis(labelLimit=420, labelOverlap=False, ticks=False),
    )
    names = ["ok", *CLASS_NAMES.values(), "not finished"]
    colours = [OK, *CLASS_COLOURS.values(), "#BBBBBB"]
    bars = (
        _chart(rows)
        .mark_bar(height=14, cornerRadius=2)
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            color=alt.Color(
                "ended:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=alt.Legend(orient="top")
            ),
            tooltip=["tool:N", "ended:N", "code:N", "took:N"],
        )
    )
    lines = (
        _chart(links)
        .mark_rule(strokeWidth=1.6)
        .encode(
            x=alt.X("from:Q"),
            x2="to:Q",
            y=alt.Y("failure:N", sort=None, scale=places_down),
            y2="answer:N",
            strokeDash=alt.StrokeDash(
                "kind:N",
                title="answered by",
                scale=alt.Scale(domain=["rewrite", "retry", "retry in vain"], range=[[1, 0], [6, 3], [2, 2]]),
                legend=alt.Legend(orient="bottom"),
            ),
            color=alt.condition(alt.datum.kind == "retry in vain", alt.value(ALARM), alt.value(CALM)),
            tooltip=["kind:N", "verdict:N"],
        )
    )
    return alt.LayerChart(layer=[bars, lines]).properties(height=_AROUND + _ROW_HEIGHT * len(rows))


def _bar(place: int, call: Call, started_ns: int, least_ns: int) -> dict[str, object]:
    ended = "ok" if call.outcome == "ok" else CLASS_NAMES.get(call.error_class or "", "not finished")
    return {
        "call": _label(place, call),
        "tool": inert(call.tool),
        "ended": ended,
        "code": inert(call.code or ""),
        "start": (call.started_ns - started_ns) / _MS,
        "end": (max(call.ended_ns, call.started_ns + least_ns) - started_ns) / _MS,
        "took": f"{max(0, call.ended_ns - call.started_ns) / _MS:,.0f} ms",
    }


def _label(place: int, call: Call) -> str:
    """
    What stands beside a bar: the call, how it ended, and how it answers a failure.
    """
    ended = call.outcome if call.outcome != "error" else inert(call.code or "UNCLASSIFIED", longest=30)
    answer = "" if call.follow_up is None else f" · {call.follow_up}"
    verdict = "" if call.verdict in (None, "allowed") else f", {str(call.verdict).replace('_', ' ')}"
    return f"{place + 1}. {inert(call.tool, longest=30)} · {ended}{answer}{verdict}"


def _link(failure: Call, from_place: int, answer: Call, to_place: int, started_ns: int) -> dict[str, object]:
    in_vain = answer.verdict in ("wasted", "over_cap", "early")
    return {
        "from": (failure.ended_ns - started_ns) / _MS,
        "to": (answer.started_ns - started_ns) / _MS,
        "failure": _label(from_place, failure),
        "answer": _label(to_place, answer),
        "kind": "retry in vain" if in_vain else answer.follow_up,
        "verdict": (answer.verdict or "").replace("_", " "),
    }


def _chart(values: Values) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(values)))


def _wall_clock(ns: int, zone: str) -> str:
    return f"{moment(ns, zone):%Y-%m-%dT%H:%M:%S}Z"
