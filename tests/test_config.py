"""
Settings come from a file and the environment; what is wrong in them is named with its line.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from toolspan.config import Settings, load_settings
from toolspan.errors import ConfigError
from toolspan.metrics import Limits
from toolspan.numbers import Targets
from toolspan.positions import Place, key_lines
from toolspan.rules import Condition, EvidenceRule, RuleBook
from toolspan.taxonomy import ErrorClass

KEY = b"0123456789abcdef"


def load(text: str, path: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """
    The settings of a file with *text*.
    """
    file = path / "toolspan.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(environ=environ or {}, config_path=str(file), new_key=lambda: KEY)


def refuse(text: str, path: Path) -> str:
    """
    The message with which *text* is refused, without the directory.
    """
    with pytest.raises(ConfigError) as caught:
        load(text, path)
    return str(caught.value).replace(f"{path}/", "")


class TestSettings:
    """
    What is loaded, from where.
    """

    def test_defaults_need_nothing(self) -> None:
        """
        Without file and variables everything has its default, and the key is a new one.
        """
        assert Settings(hash_key=KEY) == load_settings(environ={}, new_key=lambda: KEY)

    def test_everything_can_be_set(self, tmp_path: Path) -> None:
        """
        Every setting has a place in the file.
        """
        text = """
            escalation_tools = ["ask_human"]

            [arguments]
            ignore = ["idempotency_key"]

            [settle]
            grace = 5
            open_timeout = 60.5
            late = 3600

            [store]
            max_spans = 1000000

            [targets]
            retries_per_step = 0.5
            retries_p95 = 2
            validation_recovery = 0.7
            clean_escalations = 1
            min_cases = 5

            [[rule]]
            tool = "book_*"
            message = "slot (is )?taken"
            class = "business_rule"
            code = "SLOT_TAKEN"

            [[rule]]
            error_code = "BAD_DATE"
            class = "validation"
            field = "date"

            [metrics]
            tools = 50
            codes_per_tool = 20
            error_series = 500
            remembered = 5000
            hold = 15

            [collector]
            queue_mib = 16
        """
        rules = (
            EvidenceRule(
                Condition.MESSAGE, "slot (is )?taken", ErrorClass.BUSINESS_RULE, "book_*", "SLOT_TAKEN", None, 22
            ),
            EvidenceRule(Condition.ERROR_CODE, "BAD_DATE", ErrorClass.VALIDATION, "*", None, "date", 28),
        )
        expected = Settings(
            hash_key=KEY,
            ignored_arguments=("idempotency_key",),
            escalation_tools=frozenset({"ask_human"}),
            rules=RuleBook(rules),
            targets=Targets(0.5, 2, 0.7, 1, 5),
            grace_s=5,
            open_timeout_s=60.5,
            late_s=3600,
            max_spans=1_000_000,
            metric_limits=Limits(50, 20, 500, 5_000),
            metric_hold_s=15,
            queue_bytes=16 * 2**20,
        )

        assert expected == load(text, tmp_path)

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            ("http = 409", (Condition.HTTP, 409)),
            ('grpc = "ABORTED"', (Condition.GRPC, "ABORTED")),
            ("grpc = 10", (Condition.GRPC, "ABORTED")),
            ("jsonrpc = -32011", (Condition.JSONRPC, -32011)),
            ('sqlstate = "23"', (Condition.SQLSTATE, "23")),
            ('error_type = "acme.SlotTaken"', (Condition.ERROR_TYPE, "acme.SlotTaken")),
            ('exception = "SlotTaken"', (Condition.ERROR_TYPE, "SlotTaken")),
            ('error_code = "CONFLICT"', (Condition.ERROR_CODE, "CONFLICT")),
            ("result = '^Error:'", (Condition.RESULT, "^Error:")),
        ],
    )
    def test_each_condition_has_a_key(
        self, condition: str, expected: tuple[Condition, str | int], tmp_path: Path
    ) -> None:
        """
        A rule says what it looks at by the key it has.
        """
        [rule] = load(f'[[rule]]\n{condition}\nclass = "fatal"', tmp_path).rules.rules

        assert expected == (rule.condition, rule.value)

    def test_environment_names_the_file(self, tmp_path: Path) -> None:
        """
        `TOOLSPAN_CONFIG` stands in for `--config`, which wins.
        """
        (tmp_path / "a.toml").write_text('escalation_tools = ["a"]')
        (tmp_path / "b.toml").write_text('escalation_tools = ["b"]')
        environ = {"TOOLSPAN_CONFIG": str(tmp_path / "a.toml")}

        assert frozenset("a") == load_settings(environ=environ).escalation_tools
        both = load_settings(environ=environ, config_path=str(tmp_path / "b.toml"))
        assert frozenset("b") == both.escalation_tools

    def test_environment_wins_over_the_file(self, tmp_path: Path) -> None:
        """
        A variable is set for one run, the file for all.
        """
        settings = load("[settle]\ngrace = 5", tmp_path, {"TOOLSPAN_GRACE": "0.5", "TOOLSPAN_HASH_KEY": "schlüssel"})

        assert (0.5, "schlüssel".encode(), True) == (settings.grace_s, settings.hash_key, settings.is_key_given)

    def test_empty_variables_are_unset(self) -> None:
        """
        An empty variable is how a shell says nothing.
        """
        environ = {"TOOLSPAN_GRACE": "", "TOOLSPAN_HASH_KEY": "", "TOOLSPAN_CONFIG": ""}

        assert Settings(hash_key=KEY) == load_settings(environ=environ, new_key=lambda: KEY)

    def test_keys_are_random_and_not_shown(self) -> None:
        """
        Two processes have two keys, and no log shows one.
        """
        one, other = load_settings(environ={}), load_settings(environ={})

        assert one.hash_key != other.hash_key
        assert "hash_key" not in repr(one)

    def test_byte_order_mark_and_crlf_are_tolerated(self, tmp_path: Path) -> None:
        """
        A file may come from Windows.
        """
        settings = load('\ufeffescalation_tools = ["a"]\r\n', tmp_path)

        assert frozenset("a") == settings.escalation_tools


RULE = '[[rule]]\nhttp = 409\nclass = "fatal"\n'


class TestErrors:
    """
    One line for everything that is wrong, with file, line and remedy.
    """

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                '[[rule]]\nhttp = 409\nclass = "tranisent"',
                "line 3: unknown class 'tranisent'; did you mean 'transient'?",
            ),
            (
                '[[rule]]\nhttp = 409\nclass = "x"',
                "line 3: unknown class 'x'; choose one of transient, validation, permission, business_rule, fatal",
            ),
            (
                '[[rule]]\nhttp = 409\nclass = "unclassified"',
                (
                    "line 3: unknown class 'unclassified'; "
                    "choose one of transient, validation, permission, business_rule, fatal"
                ),
            ),
            (RULE + "mesage = 'x'", "line 4: unknown key 'mesage'; did you mean 'message'?"),
            (
                RULE + "code = 'slot taken'",
                (
                    "line 4: code 'slot taken' is not in capitals, digits and underscores "
                    "(2 to 63 of them); did you mean 'SLOT_TAKEN'?"
                ),
            ),
            (
                RULE + "code = '!'",
                (
                    "line 4: code '!' is not in capitals, digits and underscores "
                    "(2 to 63 of them); write it like 'SLOT_TAKEN'"
                ),
            ),
            (RULE + "code = 'UNCLASSIFIED'", "line 4: code 'UNCLASSIFIED' has a meaning of its own; choose another"),
            (
                RULE + "field = 'date'",
                ("line 1: field is for class 'validation' only, and this rule has 'fatal'; remove one"),
            ),
            (RULE + "message = 'x'", "line 1: this rule has 2 conditions (http, message); make a rule of each"),
            (
                RULE + '[[rule]]\nclass = "fatal"',
                (
                    "line 4: this rule has no condition; give one of http, grpc, "
                    "jsonrpc, sqlstate, error_type, error_code, message, result, exception"
                ),
            ),
            (
                RULE + "[[rule]]\nhttp = 409",
                ("line 4: this rule has no class; give one of transient, validation, permission, business_rule, fatal"),
            ),
            (
                '[[rule]]\nmessage = "("\nclass = "fatal"',
                ("line 2: '(' is no regular expression: missing ), unterminated subpattern at position 0"),
            ),
            (
                '[[rule]]\ngrpc = "ABORTD"\nclass = "fatal"',
                ("line 2: unknown gRPC status 'ABORTD'; did you mean 'ABORTED'?"),
            ),
            (
                '[[rule]]\nsqlstate = "23-"\nclass = "fatal"',
                ("line 2: sqlstate '23-' is no beginning of an SQLSTATE; write one to five of 0-9 and A-Z"),
            ),
            (
                '[[rule]]\nerror_code = "!"\nclass = "fatal"',
                ("line 2: error_code '!' can be no code; write it like 'SLOT_TAKEN'"),
            ),
            ('[[rule]]\nhttp = "409"\nclass = "fatal"', "line 2: http should be a valid integer, not '409'"),
            ('[[rule]]\nhttp = 40\nclass = "fatal"', "line 2: http should be greater than or equal to 100, not 40"),
            ('[rule]\nhttp = 409\nclass = "fatal"', "line 1: a rule starts with [[rule]], in two pairs of brackets"),
            ("\nescalation_tool = []", "line 2: unknown key 'escalation_tool'; did you mean 'escalation_tools'?"),
            ("escalation_tools = [\n'a',\n1]", "line 3: escalation_tools should be a valid string, not 1"),
            ("[targets]\nretries_p59 = 1", "line 2: unknown key 'retries_p59'; did you mean 'retries_p95'?"),
            ("targets.min_cases = 0", "line 1: min_cases should be greater than or equal to 1, not 0"),
            ("[settle]\ngrace = nan", "line 2: grace should be a finite number, not nan"),
            (
                "[settle]\ngrace = -1\nlate = -1",
                ("line 2: grace should be greater than or equal to 0, not -1 (and 1 more)"),
            ),
            ("x = " + "[" * 5000, "is nested too deeply; write it with [tables]"),
        ],
    )
    def test_wrong_file_is_refused(self, text: str, message: str, tmp_path: Path) -> None:
        """
        The message names the line of what is wrong, and what to write.
        """
        assert f"toolspan.toml {message}" == refuse(text, tmp_path)

    @pytest.mark.parametrize(
        ("text", "line"),
        [("a = 1\nb = = 2\nc = 3", 2), ("a = '''x\n\n", 1), ("a = [1,\n2,\n\n", 2), ("a = 1\na = 2", 2)],
    )
    def test_no_toml_is_refused(self, text: str, line: int, tmp_path: Path) -> None:
        """
        An error of syntax is named with its line, too, in one line and in the words of Python.
        """
        message = refuse(text, tmp_path)

        assert message.startswith(f"toolspan.toml line {line}: ")
        assert "\n" not in message

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[rule]]\nmessage=x\n", "line 2: invalid value; put text in quotes"),
            ('[[rule]]\nmessage="x\n', "line 2: illegal character '\\n'; end the text with its quote"),
        ],
    )
    def test_text_without_its_quotes_is_told_how(self, text: str, message: str, tmp_path: Path) -> None:
        """
        The slip that people make most.
        """
        assert f"toolspan.toml {message}" == refuse(text, tmp_path)

    def test_missing_file_is_named(self, tmp_path: Path) -> None:
        """
        A file that is not there is an error: its rules would be missed.
        """
        with pytest.raises(ConfigError) as caught:
            load_settings(environ={"TOOLSPAN_CONFIG": str(tmp_path / "none.toml")})

        expected = f"No configuration file {tmp_path / 'none.toml'}; check --config and TOOLSPAN_CONFIG"
        assert expected == str(caught.value)

    def test_unreadable_file_is_named(self, tmp_path: Path) -> None:
        """
        So is one that is a directory, or no text.
        """
        (tmp_path / "latin.toml").write_bytes(b"# \xe4")

        with pytest.raises(ConfigError) as directory:
            load_settings(environ={}, config_path=str(tmp_path))
        with pytest.raises(ConfigError) as latin:
            load_settings(environ={}, config_path=str(tmp_path / "latin.toml"))

        assert f"Cannot read the configuration file {tmp_path}: is a directory" == str(directory.value)
        assert f"{tmp_path / 'latin.toml'} is not UTF-8 text; save it as UTF-8" == str(latin.value)

    @pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "2s"])
    def test_wrong_variable_is_named(self, text: str) -> None:
        """
        A variable has no line, but a name.
        """
        with pytest.raises(ConfigError) as caught:
            load_settings(environ={"TOOLSPAN_GRACE": text})

        assert f"TOOLSPAN_GRACE is {text!r}; give a number of seconds, for example 2 or 0.5" == str(caught.value)


class TestPositions:
    """
    Lines are found wherever TOML lets a key stand.
    """

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a = 1\nb = 2", {("a",): 1, ("b",): 2}),
            ("# a = 1\n\nb = 2 # c = 3\n", {("b",): 3}),
            ('a = \'# no\'\nb = "\\" # no"\nc = 1', {("a",): 1, ("b",): 2, ("c",): 3}),
            ('a = """\nb = 1\n\\""" """""\nc = 1', {("a",): 1, ("c",): 4}),
            ("a = '''\n[b]\n'''''\nc = 1", {("a",): 1, ("c",): 4}),
            ("a = 1979-05-27 07:32:00\nb = 1.5e3", {("a",): 1, ("b",): 2}),
            ("[t]\na = 1\n[t.u]\nb = 1", {("t",): 1, ("t", "a"): 2, ("t", "u"): 3, ("t", "u", "b"): 4}),
            ("t.a = 1\nt.'b.c' = 1", {("t",): 1, ("t", "a"): 1, ("t", "b.c"): 2}),
            (
                '[[r]]\na = 1\n[[ "r" ]]\na = 1\n[r.s]\nb = 1\n[[r.l]]\n[[r.l]]\nc = 1',
                {
                    ("r", 0): 1,
                    ("r", 0, "a"): 2,
                    ("r", 1): 3,
                    ("r", 1, "a"): 4,
                    ("r", 1, "s"): 5,
                    ("r", 1, "s", "b"): 6,
                    ("r", 1, "l", 0): 7,
                    ("r", 1, "l", 1): 8,
                    ("r", 1, "l", 1, "c"): 9,
                },
            ),
            (
                "a = [\n  1, # one\n  [2],\n  { b = 1, c.d = 2 },\n]\ne = 1",
                {
                    ("a",): 1,
                    ("a", 0): 2,
                    ("a", 1): 3,
                    ("a", 1, 0): 3,
                    ("a", 2): 4,
                    ("a", 2, "b"): 4,
                    ("a", 2, "c"): 4,
                    ("a", 2, "c", "d"): 4,
                    ("e",): 6,
                },
            ),
            ("", {}),
        ],
    )
    def test_keys_have_lines(self, text: str, expected: dict[Place, int]) -> None:
        """
        Tables, dotted keys, arrays and strings of many lines are all read as TOML reads them.
        """
        assert expected == key_lines(text)
