"""
`docs/audit.md`: what it says of the ten points and of faults is what there is.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from toolspan import faults
from toolspan.audit import POINTS

DOCS = (Path(__file__).parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")


def test_each_point_says_what_it_protects_from() -> None:
    """
    The table has the points as the program prints them.
    """
    rows = [
        f"| {point.number} | {point.name} | {point.asks} | {point.protects_from} | {point.fix} |" for point in POINTS
    ]

    assert rows == [line for line in DOCS.splitlines() if re.match(r"\| \d", line)]


def test_each_fault_is_named() -> None:
    """
    Whatever makes a fault or a plan, but the lies by name, which come with `every_lie()`.
    """
    types = {"Break", "Fault", "HttpFault", "Injected", "Injection", "Plan"}
    lies = {"instruction_in_hint", "ok_with_error", "retryable_contradiction", "unretryable_transient"}

    assert [] == [name for name in sorted(set(faults.__all__) - types - lies) if f"{name}(" not in DOCS]


def test_the_example_passes(tmp_path: Path) -> None:
    """
    The test that is shown is run as it is, with the fixture that the package brings.
    """
    [example] = re.findall(r"```python\n(.+?)```", DOCS, flags=re.DOTALL)
    (tmp_path / "test_shown.py").write_text(example, encoding="utf-8")

    # other packages' plugins take four seconds to load
    # without what this run was asked for, such as coverage, by a plug-in that is not there
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "toolspan", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert "1 passed" in ran.stdout
