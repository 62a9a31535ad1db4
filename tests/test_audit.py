"""
The audit: which tool passes which of the ten points, and what is run for it.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from types import SimpleNamespace

import httpx
import pytest
import requests

from tests import audited
from tests.audited import FAILING, RAN, WRITTEN, Desk
from toolspan import faults
from toolspan.audit import POINTS, Finding, audit, find_subjects
from toolspan.audit.sealing import sealed
from toolspan.errors import InputError
from toolspan.tools.tool import tool_of


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()
    WRITTEN.clear()


def audit_of(found: object, *, is_executed: bool = False, **arguments: object) -> list[Finding]:
    """
    The findings of one tool.
    """
    subjects = find_subjects(found)
    given = {subject.name: arguments for subject in subjects} if arguments else None
    return list(audit(subjects, arguments=given, is_executed=is_executed))


def failed(findings: list[Finding]) -> list[int]:
    """
    The points that failed.
    """
    return [finding.point.number for finding in findings if finding.verdict == "failed"]


def unjudged(findings: list[Finding]) -> dict[int, str]:
    """
    The points that could not be judged, and why.
    """
    return {finding.point.number: finding.reasons[0].said for finding in findings if finding.verdict == "unjudged"}


class TestPoints:
    """
    The ten.
    """

    def test_there_are_ten_and_each_says_what_it_is_for(self) -> None:
        """
        Each has a name, what it protects from, and a fix.
        """
        assert list(range(1, 11)) == [point.number for point in POINTS]
        assert 10 == len({point.name for point in POINTS})
        assert all(point.asks and point.protects_from and point.fix for point in POINTS)

    @pytest.mark.parametrize("found", [audited.search_flights, audited.fetch_flights, Desk().look_up])
    def test_a_good_reading_tool_passes(self, found: Callable[..., object]) -> None:
        """
        A function, a coroutine function and a method; the ninth point is not for it.
        """
        findings = audit_of(found)

        assert [] == failed(findings)
        assert {9} == unjudged(findings).keys()

    @pytest.mark.parametrize("is_executed", [False, True])
    def test_a_good_writing_tool_passes(self, is_executed: bool) -> None:
        """
        All ten are judged, whether it is run or not.
        """
        findings = audit_of(audited.pay, is_executed=is_executed)

        assert ([], {}) == (failed(findings), unjudged(findings))

    @pytest.mark.parametrize("name", FAILING)
    def test_a_tool_fails_its_point(self, name: str) -> None:
        """
        For each way to fail, a tool that goes it; the reason is told.
        """
        found, point, said = FAILING[name]

        [finding] = [each for each in audit_of(found) if each.point.number == point]

        assert "failed" == finding.verdict
        assert [] != [reason for reason in finding.reasons if said in reason.said]

    @pytest.mark.parametrize(
        "name", ["no class", "all transient", "own wait", "wrong field", "upstream text", "no key"]
    )
    def test_what_is_not_wrong_is_not_reported(self, name: str) -> None:
        """
        Points that the tool does keep pass: the first, and the sixth.
        """
        assert not {1, 6} & set(failed(audit_of(FAILING[name].found)))

    def test_a_tool_that_takes_nothing_and_asks_nobody_is_not_judged_by_that(self) -> None:
        """
        No argument to refuse, no request to retry, nothing written.
        """
        findings = audit_of(audited.get_version)

        assert [] == failed(findings)
        assert {5, 8, 9} == unjudged(findings).keys()

    def test_a_read_back_that_finds_nothing_is_found_out_by_a_run(self) -> None:
        """
        It wrote, and would write again.
        """
        findings = audit_of(audited.pay_forgetfully, is_executed=True)

        assert ([], [9]) == (failed(audit_of(audited.pay_forgetfully)), failed(findings))


class TestRunning:
    """
    What is run for an audit.
    """

    def test_a_tool_that_may_write_is_not_run(self) -> None:
        """
        Not where it declares a write, not where its name says so, and not where nobody says anything.
        """
        for found in (audited.pay, audited.process_order, audited.send_mail):
            audit_of(found)

        assert ([], {}) == (RAN, WRITTEN)

    def test_a_tool_that_reads_is_run(self) -> None:
        """
        What it makes of its upstream's answers is only seen that way.
        """
        audit_of(audited.search_flights)

        assert {"search_flights"} == set(RAN)

    def test_a_tool_is_run_on_demand(self) -> None:
        """
        It may write then; the reply of its write is lost, and it finds it.
        """
        audit_of(audited.pay, is_executed=True)

        assert "pay" in RAN
        assert {1} == set(WRITTEN.values())  # a write is not handed anything wrong

    def test_a_tool_is_said_to_read(self) -> None:
        """
        Whatever it is called.
        """
        [subject] = find_subjects(audited.process_order, reading=["process_order"])
        list(audit([subject]))

        assert {"process_order"} == set(RAN)

    def test_what_cannot_be_tried_is_said(self) -> None:
        """
        A plain function that is not run has nothing that could be judged but what it is.
        """
        findings = audit_of(audited.send_mail)

        assert [1, 9] == failed(findings)
        assert {2, 3, 4, 5, 6, 7, 8, 10} == unjudged(findings).keys()
        assert "run it with --execute" in unjudged(findings)[2]

    def test_real_arguments_reach_the_tool(self) -> None:
        """
        What is given is what it is called with.
        """
        findings = audit_of(audited.search_vague, date="2026-05-04")

        assert 5 in failed(findings)


class TestSealing:
    """
    Nothing leaves the process.
    """

    def test_every_way_out_is_closed(self) -> None:
        """
        httpx, requests and sockets; what tried is counted.
        """
        listening = socket.create_server(("127.0.0.1", 0))
        with listening, socket.socket() as client, sealed(faults.http_status(418)) as seal:
            answers = [httpx.get(audited.URL).status_code, requests.get(audited.URL, timeout=1).status_code]
            with pytest.raises(ConnectionRefusedError):
                client.connect(listening.getsockname())
            with pytest.raises(ConnectionRefusedError):
                socket.getaddrinfo("localhost", 80)

        assert ([418, 418], 2, 2) == (answers, seal.requests, seal.connections)

    def test_coroutines_are_sealed_alike(self) -> None:
        """
        An async client meets the fault, too.
        """

        async def ask() -> int:
            async with httpx.AsyncClient() as client:
                return (await client.get(audited.URL)).status_code

        with sealed(faults.http_status(418)) as seal:
            assert (418, 1) == (asyncio.run(ask()), seal.requests)

    def test_waits_take_no_time(self) -> None:
        """
        A loop of the tool's own that waits for an hour holds nobody up.
        """

        async def wait() -> str:
            return await asyncio.sleep(3600.0, "slept")

        with sealed(faults.http_refusal()):
            time.sleep(3600.0)
            assert "slept" == asyncio.run(wait())

    def test_everything_is_as_it_was_afterwards(self) -> None:
        """
        Also where the block raised.
        """
        owners = (
            (socket.socket, "connect"),
            (socket, "getaddrinfo"),
            (time, "sleep"),
            (httpx.HTTPTransport, "handle_request"),
        )
        before = [getattr(owner, name) for owner, name in owners]
        with pytest.raises(ZeroDivisionError), sealed(faults.http_refusal()):
            raise ZeroDivisionError

        assert before == [getattr(owner, name) for owner, name in owners]


class TestSubjects:
    """
    What is audited.
    """

    def test_a_module_has_its_tools(self) -> None:
        """
        Each once, and no plain function.
        """
        names = [subject.name for subject in find_subjects(audited)]

        assert {"search_flights", "fetch_flights", "pay"} < set(names)
        assert len(set(names)) == len(names)
        assert "send_mail" not in names

    def test_lists_and_dicts_are_opened(self) -> None:
        """
        As an agent is given them.
        """
        names = {"a": audited.pay, "b": [audited.search_flights, audited.send_mail]}

        assert ["pay", "search_flights", "send_mail"] == [subject.name for subject in find_subjects(names)]

    def test_a_tools_own_record_is_one(self) -> None:
        """
        What `@tool` knows of it, without the function around.
        """
        found = tool_of(audited.pay)

        assert [("pay", "write")] == [(subject.name, subject.kind) for subject in find_subjects(found)]

    def test_a_frameworks_object_is_opened(self) -> None:
        """
        It holds the function that it calls.
        """
        wrapped = SimpleNamespace(func=audited.search_flights, name="anything")

        assert ["search_flights"] == [subject.name for subject in find_subjects(wrapped)]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("get_user", "read"),
            ("listFiles", "read"),
            ("create_user", "write"),
            ("DeleteUser", "write"),
            ("run", "unknown"),
        ],
    )
    def test_a_name_tells_what_a_tool_does(self, name: str, kind: str) -> None:
        """
        Its first word, however it is spelt.
        """

        def function() -> None:
            pass

        function.__name__ = name

        assert [kind] == [subject.kind for subject in find_subjects(function)]

    @pytest.mark.parametrize("found", [7, [], {}, int, SimpleNamespace()])
    def test_what_holds_no_tool_is_refused(self, found: object) -> None:
        """
        With what to name instead.
        """
        with pytest.raises(InputError, match="name a function, or decorate one"):
            find_subjects(found)

    def test_a_reading_tool_that_is_not_there_is_refused(self) -> None:
        """
        A misspelt name would have the tool run as it is not meant to.
        """
        with pytest.raises(InputError, match="No tool 'serch_flights'"):
            find_subjects(audited.search_flights, reading=["serch_flights"])
