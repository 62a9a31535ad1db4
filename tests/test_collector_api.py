"""
What the API answers, and how it says no; the document that describes it.
"""

import json
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.facts import trace_id
from tests.stores import Clock, a_trace
from toolspan.call_records import call_of, whole_record
from toolspan.collector.api import all_operations, api_app
from toolspan.collector.questions import Context
from toolspan.collector.writing import WriterState
from toolspan.config import Settings
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import Rows
from toolspan.report_answers import ask_report
from toolspan.store.held import HeldStore
from toolspan.store.reading import read_rows
from toolspan.tracker import Tracker
from toolspan_queries import names

# neither has types
pa: Any = import_module("pyarrow")
openmetrics: Any = import_module("prometheus_client.openmetrics.parser")

READY = WriterState(True, "", 0, 0, 0.0)


class Api:
    """
    An API on a store with two tasks, which are settled.
    """

    def __init__(self, store: HeldStore, clock: Clock, *, token: str | None = None) -> None:
        self.store = store
        self.state = READY
        metrics = Metrics()
        tracker = Tracker(metrics, grace_ns=0, most=1000)
        for spans in ([*a_trace(1), *a_trace(2)], []):
            written = store.write(spans, knows=tracker.knows)
            tracker.written(written.derived, written.settled, now_ns=clock())
            clock.pass_s(3)
        context = Context(store, lambda: self.state, Settings())
        self.metrics = MetricsCollector(metrics)
        self.app = api_app(context, self.metrics, token=token, trusted_hosts=["localhost"])
        self.client = TestClient(self.app, base_url="http://localhost", raise_server_exceptions=False)

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """
        The status and the document at *path*.
        """
        response = self.client.get(path, headers=headers)
        return response.status_code, response.json()

    def rows(self) -> Rows:
        """
        The rows in the store.
        """
        with self.store.reading() as connection:
            return read_rows(connection)


@pytest.fixture
def store(tmp_path: Path) -> Generator[tuple[HeldStore, Clock]]:
    clock = Clock()
    held = HeldStore(tmp_path / "x.duckdb", url="", settings=Settings(), tell=pytest.fail, clock_ns=clock)
    yield held, clock
    held.close()


@pytest.fixture
def api(store: tuple[HeldStore, Clock]) -> Api:
    return Api(*store)


class TestNumbers:
    def test_every_query_answers_in_json_and_in_arrow(self, api: Api) -> None:
        """The same rows, with the definition of the number."""
        for name in names():
            status, document = api.get(f"/api/v1/query/{name}?since=2020-01-01")
            arrow = api.client.get(
                f"/api/v1/query/{name}?since=2020-01-01", headers={"Accept": "application/vnd.apache.arrow.stream"}
            )
            table: Any = pa.ipc.open_stream(arrow.content).read_all()

            assert 200 == status
            assert document["rows"] == json.loads(json.dumps(table.to_pylist(), default=int))
            assert document["definition"]

    def test_report_is_the_document_of_the_command(self, api: Api) -> None:
        """By the collector's targets, or the asker's."""
        with api.store.reading() as connection:
            expected = ask_report(connection)

        assert (200, json.loads(json.dumps(expected))) == api.get("/api/v1/report")
        _, strict = api.get("/api/v1/report?min_cases=1&retries_per_step=0.01&retries_p95=0")
        assert ["retries_per_step", "retries_p95"] == strict["tools"]["search"]["broken"]

    def test_lists_what_can_be_asked(self, api: Api) -> None:
        """Names of queries, and of tools and agents."""
        _, listed = api.get("/api/v1/queries")
        _, known = api.get("/api/v1/names")

        assert names() == [each["name"] for each in listed["queries"]]
        assert (4, ["search"], ["planner"]) == (known["calls"], known["tools"], known["agents"])


class TestCalls:
    def test_come_a_page_at_a_time(self, api: Api) -> None:
        """In order of start; a record has all that is kept of a call."""
        found: list[Any] = []
        after: str | None = ""
        while after is not None:
            _, page = api.get(f"/api/v1/calls?limit=1{f'&after={after}' if after else ''}")
            found += page["calls"]
            after = page["next"]

        assert [whole_record(call) for call in api.rows().calls] == found
        assert api.rows().calls == [call_of(record) for record in found]

    def test_of_one_task_or_span(self, api: Api) -> None:
        """As links of a page need them."""
        task_id = api.rows().tasks[1].task_id

        _, of_task = api.get(f"/api/v1/calls?task={task_id}")
        _, of_span = api.get("/api/v1/calls?span=0000000000000003")
        _, of_nothing = api.get("/api/v1/calls?span=f")

        assert [{task_id}, {"0000000000000003"}] == [
            {call["task_id"] for call in of_task["calls"]},
            {call["span_id"] for call in of_span["calls"]},
        ]
        assert [] == of_nothing["calls"]

    def test_a_task_has_its_calls_and_escalations(self, api: Api) -> None:
        """An id may hold any character."""
        task = api.rows().tasks[0]

        status, document = api.get(f"/api/v1/tasks/{task.task_id}")
        missing, problem = api.get("/api/v1/tasks/a%2Fb?")

        assert (200, task.outcome, 2, []) == (
            status,
            document["task"]["outcome"],
            len(document["calls"]),
            document["escalations"],
        )
        assert (404, "No task 'a/b' here; /api/v1/calls shows the ids there are.") == (missing, problem["detail"])


class TestHealth:
    def test_is_ready_or_says_why_not(self, api: Api) -> None:
        """A process that answers is healthy; whether it takes spans is another question."""
        ready = api.get("/readyz")[0]
        api.state = READY._replace(is_ready=False, why="the disk is full")

        status, document = api.get("/readyz")

        assert (200, 503, "the disk is full") == (ready, status, document["reason"])
        assert 200 == api.client.get("/healthz").status_code

    def test_metrics_are_for_prometheus(self, api: Api) -> None:
        """As text, or as OpenMetrics with the trace of an example; what is shown first is 0."""
        api.client.get("/metrics")

        text = api.client.get("/metrics")
        open_metrics = api.client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})

        assert 'toolspan_calls_total{outcome="ok",tool="search"} 2.0' in text.text
        assert "text/plain" in text.headers["content-type"]
        families = list(openmetrics.text_string_to_metric_families(open_metrics.text))
        examples = [sample.exemplar for family in families for sample in family.samples if sample.exemplar]
        assert {trace_id(1).hex(), trace_id(2).hex()} >= {example.labels["trace_id"] for example in examples} > set()


class TestRefusing:
    @pytest.mark.parametrize(
        ("path", "status", "detail"),
        [
            ("/api/v1/query/cals", 404, "Unknown query 'cals'; did you mean 'calls'?"),
            ("/api/v1/report?sinc=1h", 400, "Unknown parameter 'sinc'; did you mean 'since'?"),
            ("/api/v1/report?since=yesterday", 400, "Cannot read the time 'yesterday'"),
            ("/api/v1/report?since=1h&until=2h", 400, "The window is empty"),
            ("/api/v1/report?tool=a&tool=b", 400, "tool is given twice"),
            ("/api/v1/report?by=tool", 400, "Cannot group by 'tool'; there are agent, service, environment."),
            ("/api/v1/report?min_cases=many", 400, "min_cases is 'many'; give a number"),
            ("/api/v1/report?retries_p95=nan", 400, "retries_p95 is 'nan'; give a number"),
            ("/api/v1/calls?limit=0", 400, "The limit '0' is no number from 1 to 10,000."),
            ("/api/v1/calls?limit=1e3", 400, "The limit '1e3' is no number"),
            ("/api/v1/calls?span=xyz", 400, "The span 'xyz' is not the beginning of a span id"),
            ("/api/v1/calls?after=1", 400, "'1' is no place"),
            ("/api/v1/spans?trace=1", 400, "'1' is no trace id"),
            ("/api/v1/nothing", 404, "There is no /api/v1/nothing; /api/v1/openapi.json says what there is."),
        ],
    )
    def test_is_a_problem_that_says_what_to_do(self, api: Api, path: str, status: int, detail: str) -> None:
        """RFC 9457."""
        response = api.client.get(path)

        assert (status, "application/problem+json") == (response.status_code, response.headers["content-type"])
        assert detail in response.json()["detail"]
        assert status == response.json()["status"]

    def test_a_store_that_is_not_open_is_503(self, api: Api) -> None:
        """For a moment, after a failure."""
        api.store.close()

        status, document = api.get("/api/v1/report")

        assert 503 == status
        assert "is not open just now" in document["detail"]

    def test_deleting_takes_a_body_of_json(self, api: Api) -> None:
        """A page of another site could send a form."""
        form = api.client.post("/api/v1/prune", data={"before": "0s"})
        empty = api.client.post("/api/v1/prune", json={})
        more = api.client.post("/api/v1/prune", json={"before": "2100-01-01", "tool": "search"})
        garbage = api.client.post("/api/v1/prune", content=b"{", headers={"Content-Type": "application/json"})
        kept = len(api.rows().calls)
        done = api.client.post("/api/v1/prune", json={"before": "2100-01-01"})

        assert [415, 400, 400, 400, 200] == [each.status_code for each in (form, empty, more, garbage, done)]
        assert (4, {"tasks": 2, "calls": 4}, 0) == (kept, done.json(), len(api.rows().calls))

    def test_other_names_of_this_machine_are_refused(self, api: Api) -> None:
        """A name that somebody else's server gave to 127.0.0.1 is how a browser is turned on a local service."""
        assert 400 == api.client.get("/api/v1/report", headers={"Host": "evil.example"}).status_code

    def test_who_does_not_know_the_token_sees_health_alone(self, store: tuple[HeldStore, Clock]) -> None:
        """A load balancer knows none."""
        client = Api(*store, token="s3cret").client  # noqa: S106 - of a test

        paths = ("/healthz", "/readyz", "/metrics", "/api/v1/report", "/api/v1/openapi.json")

        assert [200, 200, 401, 401, 401] == [client.get(path).status_code for path in paths]
        assert 200 == client.get("/metrics", headers={"Authorization": "Bearer s3cret"}).status_code


class TestDocument:
    def test_names_every_route_and_no_other(self, api: Api) -> None:
        """Metrics and the document itself are among them."""
        _, document = api.get("/api/v1/openapi.json")

        described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
        assert {(each.path, each.method) for each in all_operations(api.metrics, is_closed=False)} == described
        assert described > {("/metrics", "GET"), ("/api/v1/openapi.json", "GET"), ("/api/v1/prune", "POST")}

    def test_a_copy_is_a_download_that_leaves_nothing_behind(self, api: Api, tmp_path: Path) -> None:
        """A DuckDB file."""
        response = api.client.get("/api/v1/snapshot")

        assert (200, b"DUCK") == (response.status_code, response.content[8:12])
        assert [] == list(tmp_path.glob(".toolspan-*"))
