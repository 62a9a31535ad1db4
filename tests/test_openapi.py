"""
Schemathesis against the API: whatever its document allows is answered as it says, what it forbids is refused.
"""

from collections.abc import Generator
from importlib import import_module
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode

from tests.stores import Clock
from tests.test_collector_api import Api
from toolspan.collector.api import all_operations
from toolspan.collector.operations import TIME
from toolspan.collector.questions import Operation
from toolspan.config import Settings
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.store.held import HeldStore

OPERATIONS = all_operations(MetricsCollector(Metrics()), is_closed=False)


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    """
    The document of an API on a store with two tasks.
    """
    path, clock = tmp_path_factory.mktemp("openapi") / "x.duckdb", Clock()
    store = HeldStore(path, url="", settings=Settings(), tell=pytest.fail, clock_ns=clock)
    app: Any = Api(store, clock).app
    yield schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers={"Host": "localhost"})
    store.close()


#: Data that is wrong in every way is found by filtering.
_SLOW = [HealthCheck.filter_too_much, HealthCheck.too_slow]
CHECKS: Any = import_module("schemathesis.specs.openapi.checks")
#: Without parameters.
_NOTHING_IS_WRONG = {each.name for each in OPERATIONS if not each.parameters and each.body is None}


# No schema says that a day exists, and that one time comes before another: a text of the right form may be refused.
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_is_as_described(described: Any, operation: Operation, mode: GenerationMode) -> None:
    """
    Statuses, media types and schemas; nothing is a fault.
    """
    if mode is GenerationMode.NEGATIVE and operation.name in _NOTHING_IS_WRONG:
        return
    has_times = any(each.schema == TIME for each in operation.parameters) or operation.body is not None
    excluded: list[Any] = [CHECKS.positive_data_acceptance] if has_times else []
    cases = described[operation.path][operation.method].as_strategy(generation_mode=mode)

    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=_SLOW,
        database=None,
    )
    @given(cases)
    def check(case: Any) -> None:
        case.call_and_validate(headers={"Host": "localhost"}, excluded_checks=excluded)

    check()
