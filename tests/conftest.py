"""
Fixtures that several test modules share.
"""

import pytest

from tests.cli_runner import Cli


@pytest.fixture
def toolspan(capsys: pytest.CaptureFixture[str]) -> Cli:
    """
    The command line.
    """
    return Cli(capsys)
