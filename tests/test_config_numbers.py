"""
Numbers in a configuration file that no computer needs: refused with their line.
"""

from pathlib import Path

import pytest

from toolspan.config import load_settings
from toolspan.errors import ConfigError

TOO_LARGE = "this integer needs more than 64 bits; write a smaller one"


def refuse(text: str, folder: Path) -> str:
    """
    The message with which *text* is refused, without the directory.
    """
    path = folder / "toolspan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={}, config_path=str(path))
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    "value",
    ["9" * 5000, f"-{'9' * 5000}", f"1_{'0' * 5000}", "0x" + "f" * 5000, "9" * 4000, str(2**63)],
    ids=["digits", "negative", "underscores", "hex", "fewer digits", "one too many"],
)
@pytest.mark.parametrize("key", ["min_cases", "validation_recovery", "retries_per_step", "unknown"])
def test_an_integer_beyond_64_bits_is_named_by_its_line(tmp_path: Path, key: str, value: str) -> None:
    """
    Whatever key it is for, and however it is written.
    """
    text = f"# {value}\n[targets]\n{key} = {value}\n"

    assert f"toolspan.toml line 3: {TOO_LARGE}" == refuse(text, tmp_path)


def test_an_integer_in_an_array_is_named_by_its_line(tmp_path: Path) -> None:
    """
    Of several lines.
    """
    assert f"toolspan.toml line 3: {TOO_LARGE}" == refuse(f"escalation_tools = [\n1,\n{2**64}\n]\n", tmp_path)


def test_digits_in_a_text_are_no_number(tmp_path: Path) -> None:
    """
    The line is that of the number, where a text before it has as many digits.
    """
    digits = "9" * 5000

    assert f"toolspan.toml line 2: {TOO_LARGE}" == refuse(f"a = '{digits}'\nb = {digits}\n", tmp_path)
