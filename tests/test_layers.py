"""
The core stays pure: every module is one of those that may not touch the world, or one of the few that do.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Modules that read files, settings or the wire, print, or hold what others read.
EDGES = {
    "agents",
    "audit",
    "cli",
    "collector",
    "common_spans",
    "config",
    "config_file",
    "config_tables",
    "demo",
    "diagnosis",
    "envelopes",
    "faults",
    "framing",
    "garbage",
    "instrumentation",
    "otlp",
    "otlp_messages",
    "otlp_values",
    "pipeline",
    "prometheus",
    "remote",
    "store",
    "survey",
    "tools",
}


def pure_modules() -> set[str]:
    """
    The modules that `lint-imports` holds to be pure.
    """
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, list[str]]] = document["tool"]["importlinter"]["contracts"]
    [names] = [contract["source_modules"] for contract in contracts if "source_modules" in contract]
    # of a package that touches the world some modules may be pure, too
    return {name for each in names if "." not in (name := each.removeprefix("toolspan."))}


def test_every_module_is_pure_or_an_edge() -> None:
    """
    A new module is pure unless it is said not to be, and then `lint-imports` holds it to that.
    """
    package = ROOT / "telemetry" / "toolspan"
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert {name for name in modules - EDGES if not name.startswith("_")} == pure_modules()
    assert modules >= EDGES
