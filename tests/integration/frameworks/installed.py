"""
The frameworks, and whether they are there.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[3]
_SETTINGS: Final = ("TOOLSPAN_", "OTEL_", "OPENINFERENCE_", "OPENAI_")
#: What each framework takes, by the name of its module here.
PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "pydantic_ai": ("pydantic_ai",),
    "openai_agents": ("agents", "openinference.instrumentation.openai_agents"),
    "langgraph": ("langgraph", "openinference.instrumentation.langchain"),
    "mcp": ("mcp",),
}


def missing(framework: str) -> str:
    """
    The first package that *framework* takes and that is not installed; empty where all are.
    """
    return next((name for name in PACKAGES[framework] if not _is_installed(name)), "")


def framework_or_skip(framework: str) -> str:
    """
    *framework*; the test is skipped where it is not installed, which CI does not put up with.
    """
    package = missing(framework)
    if package and os.environ.get("CI"):
        pytest.fail(f"CI has no {package}")
    if package:
        pytest.skip(f"no {package}")
    return framework


def bare_environ() -> dict[str, str]:
    """
    The environment without settings of whoever runs the tests.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
