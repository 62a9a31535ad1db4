"""
Who may ask the API, and by which answers one knows whom one asked.
"""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.stores import Clock
from tests.test_collector_api import Api
from toolspan.config import Settings
from toolspan.store.held import HeldStore

_TOKEN = "s3cret"  # noqa: S105 - of a test


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Api]:
    """
    An API for this machine and those who know the token.
    """
    path, clock = tmp_path_factory.mktemp("gate") / "x.duckdb", Clock()
    store = HeldStore(Path(path), url="", settings=Settings(), tell=pytest.fail, clock_ns=clock)
    yield Api(store, clock, token=_TOKEN)
    store.close()


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9464", "LOCALHOST.", "127.0.0.1:9464", "127.0.0.2", "[::1]:9464", "[::1]"]
)
def test_this_machine_has_several_names(closed: Api, host: str) -> None:
    """All of which are nobody else's."""
    assert 200 == closed.client.get("/healthz", headers={"Host": host}).status_code


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9464", "localhost.evil.example", "10.0.0.1", "0.0.0.0:9464", "[::1", "", "é"]
)
def test_another_name_is_refused(closed: Api, host: str) -> None:
    """A name that somebody else's server gave to 127.0.0.1 is how a browser is turned on a local service."""
    response = closed.client.get("/healthz", headers={b"Host": host.encode("latin-1")})

    assert (400, "application/problem+json") == (response.status_code, response.headers["content-type"])
    assert "ask it at localhost" in response.json()["detail"]


def test_who_does_not_know_the_token_is_told_what_to_send(closed: Api) -> None:
    """As a problem, like all that is wrong."""
    without = closed.client.get("/api/v1/report")
    wrong = closed.client.get("/api/v1/report", headers={"Authorization": "Bearer s3cre"})

    assert [401, 401] == [without.status_code, wrong.status_code]
    assert "Bearer" == without.headers["www-authenticate"]
    assert "Authorization: Bearer" in without.json()["detail"]
    assert _TOKEN not in without.text + wrong.text


def test_the_document_says_what_takes_the_token(closed: Api) -> None:
    """All but health, which a load balancer asks."""
    document = closed.client.get("/api/v1/openapi.json", headers={"Authorization": f"Bearer {_TOKEN}"}).json()

    open_paths = {path for path, methods in document["paths"].items() if methods.get("get", {}).get("security") == []}
    assert {"/healthz", "/readyz"} == open_paths
    assert [{"bearer": []}] == document["security"]
    assert "401" in document["paths"]["/metrics"]["get"]["responses"]


def test_every_answer_says_that_it_is_a_collectors(closed: Api) -> None:
    """Whatever its status: who asks knows by it whom, and of which version."""
    known = {"Authorization": f"Bearer {_TOKEN}"}
    answers = [
        closed.client.get("/healthz"),
        closed.client.get("/metrics", headers=known),
        closed.client.get("/api/v1/report"),
        closed.client.get("/api/v1/nothing", headers=known),
        closed.client.get("/healthz", headers={"Host": "evil.example"}),
    ]

    assert [200, 200, 401, 404, 400] == [answer.status_code for answer in answers]
    assert ["1"] * 5 == [answer.headers["toolspan-api"] for answer in answers]
