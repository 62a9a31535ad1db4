"""
The recipes in `docs/recipes` are programs that do what they say.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli_runner import Cli
from tests.integration.frameworks.installed import PACKAGES, ROOT, bare_environ, framework_or_skip

_RECIPES: Final = ROOT / "docs" / "recipes"
_PATIENCE_S: Final = 120
_TURNS: Final = """
from tests.integration.frameworks.trip_desk import Turn
turns = [Turn("search_flights", {"date": "May 4th"})]
"""
#: What the reader of a recipe has already.
_MODELS: Final = {
    "pydantic_ai": f"""{_TURNS}
from tests.integration.frameworks.pydantic_ai_agent import scripted_model
model = scripted_model(turns, [])
""",
    "openai_agents": f"""{_TURNS}
from tests.integration.frameworks.openai_agents_agent import ScriptedModel
model = ScriptedModel(turns)
""",
    "langgraph": f"""{_TURNS}
from tests.integration.frameworks.langgraph_agent import scripted_model
model = scripted_model(turns)
""",
    "mcp": "",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_recipe_is_a_program_that_reports(toolspan: Cli, tmp_path: Path, name: str) -> None:
    """What a recipe shows runs as it stands, and leaves a store with the one call of its tool and why it failed."""
    framework_or_skip(name)
    blocks = re.findall(r"```python\n(.*?)```", _recipe(name), flags=re.DOTALL)
    program = f"import sys\nsys.path.append({str(ROOT)!r})\n{_MODELS[name]}\n{blocks[0]}"

    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=bare_environ(),
        capture_output=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    report = json.loads(toolspan("report", "--store", tmp_path / "toolspan.duckdb", "--format", "json").out)

    assert (1, 0) == (len(blocks), ran.returncode), ran.stderr.decode()
    assert {"search_flights": {"DATE_FORMAT": 1}} == {tool: one["codes"] for tool, one in report["tools"].items()}
    assert (1, 1) == (report["tasks"]["total"], report["tools"]["search_flights"]["errors"]["validation"])


@pytest.mark.parametrize("name", PACKAGES)
def test_a_recipe_says_what_cannot_be_seen(name: str) -> None:
    """Every recipe has a paragraph on what its framework never emits."""
    assert re.search(r"^\*\*What .+ never emits:\*\* ", _recipe(name), flags=re.MULTILINE)


def test_every_recipe_is_run() -> None:
    """There is no recipe of another name."""
    assert sorted(path.stem.replace("-", "_") for path in _RECIPES.glob("*.md")) == sorted(PACKAGES)


def _recipe(name: str) -> str:
    return (_RECIPES / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
