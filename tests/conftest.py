"""
Fixtures that several test modules share.
"""

from pathlib import Path

import pytest

from tests.cli_runner import Cli


@pytest.fixture
def toolspan(capsys: pytest.CaptureFixture[str]) -> Cli:
    """
    The command line.
    """
    return Cli(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """
    An empty folder to run commands in, without settings of whoever runs the tests.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("TOOLSPAN_STORE", "TOOLSPAN_CONFIG", "TOOLSPAN_HASH_KEY", "TOOLSPAN_GRACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
