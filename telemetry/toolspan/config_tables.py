"""
The tables of a configuration file: which keys each has, and what they may be.
"""

from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from toolspan.alerts import DEFAULT_LINKS, DEFAULT_THRESHOLDS, Burn, Links, Thresholds
from toolspan.metrics import DEFAULT_LIMITS
from toolspan.numbers import DEFAULT_TARGETS

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
#: Prometheus' windows are whole; ten years are more than it keeps.
Window = Annotated[int, Field(ge=1, le=315_360_000)]
Name = Annotated[str, Field(min_length=1)]


def problem_of(text: str) -> PydanticCustomError:
    """
    The problem that *text* says.
    """
    # As a parameter: a template's braces would be read.
    return PydanticCustomError("toolspan", "{text}", {"text": text})


class Strict(BaseModel):
    """
    No unknown keys, no conversions: TOML has types of its own.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ArgumentsTable(Strict):
    """
    `[arguments]`: which of a call's arguments do not make it another call.
    """

    ignore: list[Name] = []


class SettleTable(Strict):
    """
    `[settle]`: how many seconds to wait for a task's spans.
    """

    grace: Seconds = 2.0
    open_timeout: Seconds = 900.0
    late: Seconds = 86_400.0


class StoreTable(Strict):
    """
    `[store]`: how many spans a store keeps for tasks that may still change.
    """

    max_spans: Annotated[int, Field(ge=1)] = 20_000_000


class MetricsTable(Strict):
    """
    `[metrics]`: how many series there may be, and how many seconds a series stays 0 once it was shown, which is for
    more than one scraper.
    """

    tools: Annotated[int, Field(ge=1, le=10_000)] = DEFAULT_LIMITS.tools
    codes_per_tool: Annotated[int, Field(ge=1, le=10_000)] = DEFAULT_LIMITS.codes_per_tool
    error_series: Annotated[int, Field(ge=1, le=100_000)] = DEFAULT_LIMITS.error_series
    remembered: Annotated[int, Field(ge=1_000)] = DEFAULT_LIMITS.remembered
    hold: Seconds = 0.0


class CollectorTable(Strict):
    """
    `[collector]`: how many MiB of requests may wait to be written, and how many spans a task, or all tasks that share
    traces, may have: each new one makes the collector read and derive them all again, half a second for 20,000.
    """

    queue_mib: Annotated[int, Field(ge=1, le=65_536)] = 128
    task_spans: Annotated[int, Field(ge=1_000, le=10_000_000)] = 20_000


class TargetsTable(Strict):
    """
    `[targets]`: when a tool is broken.
    """

    retries_per_step: Annotated[float, Field(ge=0, allow_inf_nan=False)] = DEFAULT_TARGETS.retries_per_step
    retries_p95: Annotated[int, Field(ge=0)] = DEFAULT_TARGETS.retries_p95
    validation_recovery: Share = DEFAULT_TARGETS.validation_recovery
    clean_escalations: Share = DEFAULT_TARGETS.clean_escalations
    min_cases: Annotated[int, Field(ge=1)] = DEFAULT_TARGETS.min_cases


class BurnEntry(Strict):
    """
    An `[[alerts.burn]]`: how many times the tail that is allowed, over two windows in seconds.
    """

    long: Window
    short: Window
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    page: bool = False

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        if self.short >= self.long:
            raise problem_of(f"short is {self.short} and long {self.long}; the short window is the shorter one")
        return self


_DEFAULT_BURNS: Final = tuple(
    BurnEntry(long=burn.long_s, short=burn.short_s, factor=burn.factor, page=burn.is_page)
    for burn in DEFAULT_THRESHOLDS.burns
)


class AlertsTable(Strict):
    """
    `[alerts]`: what the rules of Prometheus allow beside the targets, over how many seconds, and where they lead.
    """

    tail: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_THRESHOLDS.tail
    window: Window = DEFAULT_THRESHOLDS.window_s
    recent: Window = DEFAULT_THRESHOLDS.recent_s
    wasted: Seconds = DEFAULT_THRESHOLDS.wasted_s
    unclassified: Share = DEFAULT_THRESHOLDS.unclassified
    cluster: Share = DEFAULT_THRESHOLDS.cluster
    lost: Share = DEFAULT_THRESHOLDS.lost
    silence: Window = DEFAULT_THRESHOLDS.silence_s
    baseline: Window = DEFAULT_THRESHOLDS.baseline_s
    pending: Annotated[int, Field(ge=0, le=86_400)] = DEFAULT_THRESHOLDS.pending_s
    interval: Annotated[int, Field(ge=1, le=86_400)] = DEFAULT_THRESHOLDS.interval_s
    dashboard: Name = DEFAULT_LINKS.dashboard
    runbooks: Name = DEFAULT_LINKS.runbooks
    burn: Annotated[list[BurnEntry], Field(min_length=1)] = list(_DEFAULT_BURNS)

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        for name, short, long in (("recent", self.recent, self.window), ("silence", self.silence, self.baseline)):
            if short > long:
                longer = {"recent": "window", "silence": "baseline"}[name]
                raise problem_of(f"{name} is {short} and {longer} {long}; {longer} is the longer one")
        for burn in self.burn:
            if self.tail * burn.factor >= 1:
                raise problem_of(
                    f"{burn.factor:g} times a tail of {self.tail:g} is never reached; give a factor under"
                    f" {1 / self.tail:.3g}"
                )
        return self

    def thresholds(self) -> Thresholds:
        """
        What the rules are made of.
        """
        return Thresholds(
            tail=self.tail,
            burns=tuple(Burn(each.long, each.short, each.factor, is_page=each.page) for each in self.burn),
            window_s=self.window,
            recent_s=self.recent,
            wasted_s=self.wasted,
            unclassified=self.unclassified,
            cluster=self.cluster,
            lost=self.lost,
            silence_s=self.silence,
            baseline_s=self.baseline,
            pending_s=self.pending,
            interval_s=self.interval,
        )

    def links(self) -> Links:
        """
        Where alerts lead.
        """
        return Links(self.dashboard, self.runbooks)
