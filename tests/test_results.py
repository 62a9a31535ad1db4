"""
A result is opened through known wrappers, and stops being our business where it holds data.
"""

import pytest

from toolspan.evidence.results import is_plain, read_result

FAILURE = '{"ok": false, "error": {"code": "SLOT_TAKEN", "class": "business_rule"}}'
ESCAPED = FAILURE.replace('"', '\\"')


class TestEnvelope:
    @pytest.mark.parametrize(
        "result",
        [
            pytest.param(FAILURE, id="json"),
            pytest.param({"ok": False, "error": {"code": "SLOT_TAKEN"}}, id="data"),
            pytest.param("{'ok': False, 'error': {'code': 'SLOT_TAKEN'}}", id="python repr"),
            pytest.param(f'"{ESCAPED}"', id="json in json"),
            pytest.param(f'{{"result": "{ESCAPED}"}}', id="adk"),
            pytest.param(f'[{{"text": "{ESCAPED}"}}]', id="content blocks"),
            pytest.param(f'{{"isError": true, "content": [{{"type": "text", "text": "{ESCAPED}"}}]}}', id="mcp text"),
            pytest.param(f'{{"isError": true, "structuredContent": {FAILURE}}}', id="mcp structured"),
            pytest.param(f'{{"type": "tool", "data": {{"content": "{ESCAPED}"}}}}', id="langchain message"),
            pytest.param(
                f'{{"output": {{"lc": 1, "type": "constructor", "kwargs": {{"content": "{ESCAPED}"}}}}}}',
                id="constructor",
            ),
            pytest.param(
                "status='success' result={'ok': False, 'error': {'code': 'X_Y', 'message': 'a b=c'}} error=None x=1",
                id="pairs",
            ),
            pytest.param(f"status='success' result='{FAILURE}' error=None", id="json in pairs"),
            pytest.param(f'{{"blocks": [{{"text": "{ESCAPED}"}}], "raw_input": {{}}}}', id="llama-index"),
            pytest.param(f'{{"id": "c1", "name": "book", "response": {FAILURE}}}', id="function response"),
        ],
    )
    def test_is_found_in_wrappers(self, result: object) -> None:
        """A failing envelope is found wherever frameworks put it, and no success is."""
        reading = read_result(result)

        assert reading.envelope is not None
        assert (False, False) == (reading.envelope["ok"], reading.says_ok)

    def test_in_the_data_of_a_success_is_not_read(self) -> None:
        """A log of old failures inside a success is data."""
        reading = read_result(f'{{"ok": true, "data": {{"log": [{FAILURE}]}}}}')

        assert (None, True) == (reading.envelope, reading.says_ok)

    def test_error_null_beside_ok_is_a_success(self) -> None:
        """The presence of a key is no error."""
        reading = read_result('{"ok": true, "data": {}, "error": null}')

        assert (None, True) == (reading.envelope, reading.says_ok)

    def test_below_a_key_that_is_no_wrapper_is_not_read(self) -> None:
        """What a tool returns under its own keys is its data."""
        reading = read_result(f'{{"history": [{FAILURE}]}}')

        assert (None, False) == (reading.envelope, reading.says_ok)


class TestFlags:
    @pytest.mark.parametrize(
        ("result", "flags"),
        [
            ('{"isError": true, "content": []}', ("mcp.isError",)),
            ('{"result": "x", "is_error": true}', ("mcp.isError",)),
            ('{"success": false, "error": "could not do it"}', ("result.success",)),
            ('{"type": "tool", "content": "no", "status": "error", "tool_call_id": "c"}', ("message.status",)),
            ('{"toolUseId": "t", "status": "error", "content": [{"text": "no"}]}', ("message.status",)),
            ("name='t' status='failure' result=None error='no'", ("repr.status",)),
            ("status='failure' result=None error='no'", ("repr.status",)),
            ('{"status": "error", "message": "the tool\'s own data"}', ()),
            ('{"error": "not found"}', ()),
            ('{"isError": false, "success": true}', ()),
            ("Error: room not found", ()),
        ],
    )
    def test_are_read(self, result: str, flags: tuple[str, ...]) -> None:
        """A listed mark says that the call failed; an `error` key or the word alone does not."""
        assert flags == read_result(result).flags


class TestPlainResults:
    @pytest.mark.parametrize(
        "result",
        [
            '{"ok": false}',
            "{'ok': False}",
            '{"isError": true}',
            "status='failure'",
            "503 Service Unavailable",
            '{"success": false}',
            '{"error": "x"}',
            '{"ok": true}',
        ],
    )
    def test_never_hide_a_mark(self, result: str) -> None:
        """What could say "failed" is looked at."""
        assert not is_plain(result)

    @pytest.mark.parametrize("result", [None, '{"flights": [{"id": "F1", "note": "email of the available one"}]}', ""])
    def test_are_not_parsed(self, result: str | None) -> None:
        """Most successes take the short way."""
        assert is_plain(result)


ODD: list[object] = [
    "[" * 100_000,
    "{'a':" * 5000,
    b"\xff",
    1.5,
    float("nan"),
    [["x"]],
    {"content": {"content": {"x": 1}}},
    "\0\ud800",
]


class TestBounds:
    def test_depth_is_bounded(self) -> None:
        """An envelope below more wrappers than any framework nests is not searched for."""
        result: object = {"ok": False}
        for _ in range(20):
            result = {"result": result}

        assert read_result(result).envelope is None

    @pytest.mark.parametrize("result", ODD)
    def test_anything_is_read(self, result: object) -> None:
        """No value is beyond it."""
        reading = read_result(result)

        assert (None, False) == (reading.envelope, reading.says_ok)
