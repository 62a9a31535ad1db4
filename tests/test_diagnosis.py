"""
From counts to findings: what is said, how it is ranked, and which setting is named for which instrumentation.
"""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import call, failed, retry, rows, task
from toolspan.diagnosis import Diagnosis, Examined, Finding, Severity, diagnose
from toolspan.records import Call, Rows, Task
from toolspan.survey import Entry, Kind, NearMiss, Shape, Survey, Tally, ToolUse


def census(*lines: tuple[str, str, Kind, int]) -> dict[Entry, Tally]:
    """
    Lines of a census: scope, convention, kind, spans.
    """
    return {Entry(scope, convention, kind): Tally("x", spans) for scope, convention, kind, spans in lines}


def survey(*lines: tuple[str, str, Kind, int], **more: object) -> Survey:
    """
    A survey that saw the spans of *lines*.
    """
    seen = Survey(census=census(*lines), spans=sum(line[3] for line in lines))
    for name, value in more.items():
        setattr(seen, name, value)
    return seen


AGENT = ("agents", "GenAI", Kind.RUN, 1)
TOOL = ("agents", "GenAI", Kind.TOOL, 1)
FULL = ToolUse(spans=1, answered=1, results=1)


def healthy(calls: Sequence[Call] = (), tasks: Sequence[Task] = ()) -> Examined:
    """
    Calls of the tool `search`, of which everything is recorded.
    """
    found = rows(calls or [call(1)], tasks or [task()])
    return Examined(survey(AGENT, TOOL, tools={("search", "agents"): FULL}), Shape(traces=1, runs=1, first_ns=1), found)


def keys(diagnosis: Diagnosis) -> list[str]:
    return [finding.key for finding in diagnosis.findings]


def the(key: str, examined: Examined) -> Finding:
    """
    The one finding of that *key*.
    """
    [finding] = [finding for finding in diagnose(examined).findings if finding.key == key]
    return finding


NOTHING = Rows([], [], [], [], [])


class TestVerdict:
    def test_says_that_all_is_well(self) -> None:
        """No finding, no advice."""
        diagnosis = diagnose(healthy())

        assert ("1 call of 1 tool in 1 task; nothing weakens the numbers.", []) == diagnosis

    def test_counts_what_weakens(self) -> None:
        """One thing, or how many."""
        examined = healthy([call(1)._replace(args_hash=None), retry(call(2), 1, "allowed", presumed=True)])
        examined.survey.tools = {("search", "agents"): ToolUse(spans=2, unrecorded=1, answered=2, results=2)}

        one = diagnose(examined).verdict
        examined.survey.dropped = 3
        two = diagnose(examined).verdict

        assert "2 calls of 1 tool in 1 task; one thing weakens the numbers." == one
        assert two.endswith("; 2 things weaken the numbers.")

    def test_of_nothing_says_what_stands_in_the_way(self) -> None:
        """The first finding is the answer."""
        diagnosis = diagnose(Examined(survey(AGENT), Shape(), NOTHING))

        assert diagnosis.verdict == "No tool calls found. agents traces no tools."

    def test_of_nothing_at_all_is_still_a_sentence(self) -> None:
        """Even where nobody knows why."""
        assert ("No tool calls found", []) == diagnose(Examined(Survey(), Shape(), NOTHING))

    def test_is_of_what_was_asked_for(self) -> None:
        """Where the caller found that filters leave nothing, that is the answer."""
        blocked = Finding("filtered", Severity.BLOCKS, "--tool x leaves none", "", "", ())

        diagnosis = diagnose(healthy(), also=[blocked])

        assert "None of the 1 call is shown. --tool x leaves none." == diagnosis.verdict
        assert ["filtered"] == keys(diagnosis)


def test_what_blocks_comes_first_and_notes_come_last() -> None:
    """Whatever order they were found in."""
    examined = healthy()
    examined.survey.near_misses[NearMiss("x", "only the name", "y")] = Tally("tool", 1)
    examined.survey.dropped = 1
    also = [Finding("filtered", Severity.BLOCKS, "t", "", "", ())]

    assert ["filtered", "dropped_attributes", "near_misses"] == keys(diagnose(examined, also=also))


class TestNoCalls:
    def test_each_instrumentation_without_tools_is_named_the_largest_first(self) -> None:
        """With what its spans are, and whether tools ran at all."""
        seen = survey(("a", "GenAI", Kind.RUN, 2), ("b", "OpenInference", Kind.MODEL, 5), asked=4)

        findings = diagnose(Examined(seen, Shape(), NOTHING)).findings

        assert ["b traces no tools", "a traces no tools"] == [finding.title for finding in findings]
        assert findings[0].seen == "Its spans: 5 model calls. Models asked for tools in 4 answers, so tools did run."

    @pytest.mark.parametrize(
        ("scope", "remedy"),
        [
            ("opentelemetry.instrumentation.crewai.instrumentation", "openinference-instrumentation-crewai"),
            ("openinference.instrumentation.haystack", "opentelemetry-haystack"),
            ("opentelemetry.instrumentation.openai.v1", "trace the agent framework, too"),
            ("opentelemetry.instrumentation.genai.anthropic", "trace the agent framework, too"),
            ("openinference.instrumentation.openai_agents", "its own tracing, or OpenInference"),
            ("somebody.else", "its own tracing, or OpenInference"),
        ],
    )
    def test_the_remedy_is_that_of_the_scope(self, scope: str, remedy: str) -> None:
        """A known instrumentation has a known remedy, any other the general one; tracing it oneself always works."""
        finding = the("no_tool_spans", Examined(survey((scope, "GenAI", Kind.RUN, 1)), Shape(), NOTHING))

        assert remedy in finding.change[0]
        assert "execute_tool" in finding.change[1]

    def test_spans_without_any_agent_are_told_so(self) -> None:
        """HTTP and databases alone mean that no framework is traced."""
        finding = the("no_framework", Examined(survey(("web", "", Kind.HTTP, 3)), Shape(), NOTHING))

        assert (Severity.BLOCKS, "3 HTTP") == (finding.severity, finding.seen[11:17])

    @pytest.mark.parametrize(("has_calls", "severity"), [(False, Severity.BLOCKS), (True, Severity.NOTE)])
    def test_near_misses_matter_most_where_nothing_else_is_there(self, has_calls: bool, severity: Severity) -> None:
        """They name what is missing."""
        examined = healthy() if has_calls else Examined(survey(AGENT), Shape(), NOTHING)
        examined.survey.near_misses[NearMiss("mine", "tool.name", "openinference.span.kind=TOOL")] = Tally("s", 7)

        finding = the("near_misses", examined)

        assert severity == finding.severity
        assert finding.seen == '7 spans like "s" of mine: tool.name, without openinference.span.kind=TOOL'

    def test_lookalikes_are_explained(self) -> None:
        """Somebody may look for the handoff that is no call."""
        examined = Examined(survey(AGENT, ("agents", "GenAI", Kind.LEFT_OUT, 2)), Shape(), NOTHING)

        finding = the("left_out", examined)

        assert (Severity.BLOCKS, '2 spans like "x" of agents') == (finding.severity, finding.seen)


class TestContent:
    @pytest.mark.parametrize(
        ("scope", "setting"),
        [
            ("pydantic-ai", "include_content=True"),
            ("agent_framework", "ENABLE_SENSITIVE_DATA=true"),
            ("gcp.vertex.agent", "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"),
            ("haystack", "HAYSTACK_CONTENT_TRACING_ENABLED=true"),
            ("mcp-python-sdk", "on the server's span"),
            ("fastmcp", "on the server's span"),
            ("autogen-core", "openinference-instrumentation-autogen-agentchat"),
            ("ai", "recordInputs: true"),
            ("openinference.instrumentation.langchain", "OPENINFERENCE_HIDE_INPUTS=false"),
            ("opentelemetry.instrumentation.genai.langchain", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
            ("opentelemetry.instrumentation.openai_v2", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
            ("opentelemetry.instrumentation.langchain", "TRACELOOP_TRACE_CONTENT=true"),
            ("somebody.else", "on the tool's span"),
        ],
    )
    def test_the_setting_is_that_of_the_scope(self, scope: str, setting: str) -> None:
        """Arguments and results are switched on by the same setting."""
        examined = healthy([call(1)._replace(args_hash=None)])
        examined.survey.tools = {("search", scope): ToolUse(spans=1, unrecorded=1, answered=1)}

        arguments, results = the("arguments", examined), the("results", examined)

        assert setting in arguments.change[0]
        assert arguments.change == results.change

    def test_openai_agents_has_a_switch_of_its_own_as_well(self) -> None:
        """Whoever writes its spans gets nothing where the SDK gives nothing."""
        examined = healthy([call(1)._replace(args_hash=None)])
        scope = "openinference.instrumentation.openai_agents"
        examined.survey.tools = {("search", scope): ToolUse(spans=1, withheld=1, answered=1, results=1)}

        assert "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA" in the("arguments", examined).change[1]

    @pytest.mark.parametrize(("presumed", "severity"), [(True, Severity.WEAKENS), (False, Severity.NOTE)])
    def test_unknown_arguments_weaken_where_a_link_is_presumed(self, presumed: bool, severity: Severity) -> None:
        """Nothing rests on them before a call fails."""
        calls = [call(1)._replace(args_hash=None), call(2)._replace(args_hash=None)]
        examined = healthy([calls[0], retry(calls[1], 1, "allowed", presumed=True)] if presumed else calls)
        examined.survey.tools = {("search", "x"): ToolUse(spans=2, unrecorded=2, answered=2, results=2)}

        finding = the("arguments", examined)

        assert (severity, "Arguments are never recorded") == (finding.severity, finding.title)
        assert finding.seen.startswith("Unknown: search (2 of 2 calls).")

    def test_arguments_that_are_sometimes_recorded_need_no_setting(self) -> None:
        """The setting is on; something else is wrong."""
        examined = healthy([call(1)._replace(args_hash=None), call(2)])
        examined.survey.tools = {("search", "pydantic-ai"): ToolUse(spans=2, unrecorded=1, answered=2, results=2)}

        finding = the("arguments", examined)

        assert "Arguments are not always recorded" == finding.title
        assert "search (1 of 2 calls)" in finding.seen
        assert "include_content" not in " ".join(finding.change)

    def test_a_tool_that_takes_nothing_is_no_finding(self) -> None:
        """Its arguments are unknown to us, and yet recorded."""
        examined = healthy([call(1)._replace(args_hash=None)])

        assert [] == keys(diagnose(examined))

    def test_a_result_on_one_of_several_spans_of_a_tool_is_enough(self) -> None:
        """The inner span of a call traced twice often has none."""
        examined = healthy()
        examined.survey.tools["search", "inner"] = ToolUse(spans=1, answered=1)

        assert [] == keys(diagnose(examined))


class TestUnclassified:
    @pytest.mark.parametrize(
        ("scope", "use", "remedy"),
        [
            ("openinference.instrumentation.openai_agents", ToolUse(redacted=1), "failure_error_function"),
            ("mcp-python-sdk", ToolUse(silent=1), "on the server's span"),
            ("pydantic-ai", ToolUse(silent=1), "include_content=True"),
            ("pydantic-ai", ToolUse(), "toolspan's envelope"),
        ],
    )
    def test_failures_without_a_message_name_who_takes_it(self, scope: str, use: ToolUse, remedy: str) -> None:
        """First where the message went, then what else names a class."""
        examined = healthy([failed(call(1), "unclassified", "UNCLASSIFIED", evidence="error.type:tool_error")])
        examined.survey.tools["search", scope] = use

        finding = the("unclassified", examined)

        assert "1 of 1 failure; most frequent evidence: error.type:tool_error (1)." in finding.seen
        assert remedy in finding.change[0]

    def test_a_few_are_no_finding(self) -> None:
        """Every service has some; `quality` lists them."""
        errors = [failed(call(number), "transient", "TIMEOUT") for number in range(9)]
        examined = healthy([*errors, failed(call(9), "unclassified", "UNCLASSIFIED")])

        assert [] == keys(diagnose(examined))


class TestTasks:
    def test_tool_spans_at_the_top_are_tasks_of_their_own(self) -> None:
        """That is why retries are missing."""
        examined = healthy()._replace(shape=Shape(traces=2, top_tools=2))

        finding = the("top_of_trace", examined)

        assert "2 tool spans" in finding.seen
        assert "toolspan.task.id" in finding.change[0]

    @pytest.mark.parametrize(("scope", "severity"), [("web", Severity.WEAKENS), ("agents", Severity.NOTE)])
    def test_without_an_agent_run_the_outcome_is_that_of_whatever_is_on_top(
        self, scope: str, severity: Severity
    ) -> None:
        """Weaker where that is a span of nobody who writes of agents, such as an HTTP request."""
        whole = task()._replace(task_id=task().trace_id.hex())
        examined = healthy(tasks=[whole])._replace(shape=Shape(traces=1))
        examined.survey.foreign_roots = {scope: Tally("POST /chat", 1)}

        assert severity == the("no_agent_run", examined).severity

    @pytest.mark.parametrize(("source", "severity"), [("unseen", Severity.WEAKENS), ("status", Severity.NOTE)])
    def test_missing_parents_weaken_where_a_task_has_no_span(self, source: str, severity: Severity) -> None:
        """Its outcome is unknown then."""
        examined = healthy(tasks=[task()._replace(outcome_source=source)])
        examined = examined._replace(shape=Shape(traces=4, runs=1, broken=2, orphans=3))

        finding = the("missing_parents", examined)

        assert severity == finding.severity
        assert "Traces: 2 of 4. Spans without their parent: 3." in finding.seen

    def test_a_service_whose_agents_call_nothing_is_noted(self) -> None:
        """Its tools may not be traced."""
        tasks = [task(), task("t2")._replace(service="desk", calls=0)]

        assert "in desk." in the("service_without_calls", healthy(tasks=tasks)).seen


class TestErrorLikeResults:
    def test_are_counted_per_tool_with_both_ways_out(self) -> None:
        """The tool with the most first, its spans of all scopes together."""
        examined = healthy()
        examined.survey.tools = {
            ("a", "x"): ToolUse(spans=9, answered=8, results=8, error_like=1),
            ("b", "x"): ToolUse(spans=9, answered=8, results=8, error_like=2),
            ("b", "y"): ToolUse(spans=9, answered=8, results=8, error_like=3),
        }

        finding = the("error_like", examined)

        assert finding.title == "Results look like errors but count as successes"
        assert finding.seen == "They begin with an error: b (5 of 16 ok), a (1 of 8 ok)."
        assert "ok: false" in finding.change[0]
        assert '[[rule]], tool = "b", result = "^Error"' in finding.change[1]


class TestTransport:
    def test_sampling_lost_attributes_and_clocks_are_found(self) -> None:
        """Each with its own remedy."""
        examined = healthy()._replace(shape=Shape(traces=1, runs=1, early=2, early_ns=5 * 10**9))
        examined.survey.sampling = Counter({"SampleRate": 3})
        examined.survey.dropped = 4
        examined.survey.backwards = 1

        diagnosis = diagnose(examined)

        assert ["sampling", "dropped_attributes", "clock"] == keys(diagnosis)
        assert ["SampleRate (3).", "4 spans with a dropped_attributes_count."] == [
            finding.seen for finding in diagnosis.findings[:2]
        ]
        assert "start before their parent: 2, by up to 5,000 ms" in diagnosis.findings[2].seen


_COUNTS = st.integers(0, 3)
_KINDS = st.sampled_from(Kind)
_SCOPES = st.sampled_from(("", "pydantic-ai", "openinference.instrumentation.haystack", "(others)"))


@given(
    st.builds(
        Survey,
        spans=_COUNTS,
        census=st.dictionaries(
            st.builds(Entry, _SCOPES, st.sampled_from(("", "GenAI")), _KINDS), st.builds(Tally, st.just("x"), _COUNTS)
        ),
        near_misses=st.dictionaries(st.builds(NearMiss, _SCOPES), st.builds(Tally, st.just("x"), _COUNTS)),
        tools=st.dictionaries(
            st.tuples(st.just("search"), _SCOPES),
            st.builds(ToolUse, *([_COUNTS] * 9)),
        ),
        dropped=_COUNTS,
        backwards=_COUNTS,
    ),
    st.builds(Shape, *([_COUNTS] * 9)),
    st.sampled_from((NOTHING, rows([call(1)._replace(args_hash=None)], [task()]))),
)
@settings(max_examples=150, deadline=None)
def test_whatever_was_counted_every_finding_says_something(seen: Survey, shape: Shape, found: Rows) -> None:
    """Nothing in a survey makes a diagnosis fail, and what it says is whole sentences in the order of severity."""
    diagnosis = diagnose(Examined(seen, shape, found))

    ranks = [list(Severity).index(finding.severity) for finding in diagnosis.findings]
    assert ranks == sorted(ranks)
    assert all(finding.title and finding.seen and finding.why and finding.change for finding in diagnosis.findings)
    assert diagnosis.verdict.startswith("No tool calls found") == (not found.calls)
