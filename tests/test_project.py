"""The shape of the house: who may import whom, what an import loads, and what is written down twice."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

import mcp_guard
from mcp_guard._version import __version__

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "src" / "mcp_guard"

CORE: Final = [
    "_version",
    "_words",
    "_facts",
    "policy",
    "errors",
    "_canonical",
    "_bounds",
    "_json",
    "_result",
    "_verdict",
    "_text",
    "_waiting",
    "_failure",
    "_dialects",
    "_exact",
    "_panic",
    "_patterns",
    "_specifications",
    "_documents",
    "_references",
    "_cost",
    "_roles",
    "_applying",
    "_effort",
    "_engine",
    "_plain",
    "_checks",
    "_rules",
    "_parts",
    "_nodes",
    "_purse",
    "_explain",
    "_look",
    "_schema",
    "_kept",
    "_contract",
    "_check",
    "_decision",
    "_arguments",
    "_drift",
    "contracts",
    "_lint",
    "_record",
    "_correlation",
    "_chain",
    "_logfiles",
    "_verifying",
    "records",
    "_around",
    "_log",
    "_globs",
    "_readers",
    "_judge",
]
"""What knows no SDK and waits for nothing."""

LINE: Final = [
    *CORE,
    "_locks",
    "_audit",
    "_tally",
    "_otel",
    "hooks",
    "_sdk",
    "_sdk.shape",
    "_sdk.hook",
    "_sdk.v1",
    "_sdk.v2",
    "_sdk.choose",
    "_notifications",
    "_watching",
    "_fetch",
    "_remote",
    "_listing",
    "_into",
    "_data",
    "_budget",
    "_retry",
    "_sending",
    "_page",
    "_calling",
    "_pages",
    "_session",
    "_lines",
    "_frames",
    "_wire",
    "_tapped",
    "_opening",
    "_connect",
    "_install",
    "mcp_guard",
    "doors",
    "doors._shared",
    "doors.fastmcp",
    "doors.langchain",
    "doors.openai_agents",
    "doors.pydantic_ai",
    "testing.raw",
    "testing.faults",
    "testing.server",
    "testing.injecting",
    "testing.asserting",
    "testing.exercising",
    "testing.recordings",
    "testing.recorded",
    "testing.sketch",
    "testing.summary",
    "testing.judging",
    "testing.inputs",
    "testing.outputs",
    "testing.engines",
    "testing.replaying",
    "testing.comparing",
    "testing",
    "testing.plugin",
    "testing.__main__",
    "cli.report",
    "cli.html",
    "cli.formats",
    "cli.common",
    "cli.lint",
    "cli.diff",
    "cli.check",
    "cli.pin",
    "cli.call",
    "cli.plots",
    "cli.replay",
    "cli.explain",
    "cli.demo",
    "cli",
    "cli.completion",
    "__main__",
]
"""A module may import those that stand before it, and no others. The package itself is `mcp_guard`."""

SDK: Final = {"mcp", "mcp_types"}
HEAVY: Final = SDK | {
    "jsonschema",
    "jsonschema_rs",
    "jsonschema_specifications",
    "referencing",
    "pydantic",
    "anyio",
    "httpx",
    "opentelemetry",
    "rfc8785",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "mcp_guard"


MODULES: Final = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(module: str) -> Iterator[str]:
    """Absolute names of what a module imports, wherever it does."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(module: str) -> Iterator[str]:
    """The modules of the package that a module imports."""
    for name in imports(module):
        parts = name.split(".")
        if parts[0] == "mcp_guard":
            inside = ".".join(parts[1:])
            while inside and inside not in MODULES:  # a.b.c: c may be a name in a.b
                inside = inside.rpartition(".")[0]
            yield inside or "mcp_guard"


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module: str) -> None:
    assert module in LINE, f"{module} is new: give it its place in LINE"
    earlier = set(LINE[: LINE.index(module)])
    against = {name for name in own_imports(module) if name not in earlier}
    assert not against, f"{module} imports {against}, which do not stand before it in LINE"


def test_the_line_names_each_module_once() -> None:
    assert sorted(LINE) == sorted(MODULES)


@pytest.mark.parametrize("module", [name for name in MODULES if name in CORE])
def test_the_core_imports_no_sdk_and_nothing_that_waits(module: str) -> None:
    forbidden = SDK | {"anyio", "asyncio", "trio", "httpx", "httpx2", "socket", "subprocess", "threading"}
    assert not {name.partition(".")[0] for name in imports(module)} & forbidden


DOORS: Final = [name for name in MODULES if name.startswith("doors.") and not name.startswith("doors._")]


@pytest.mark.parametrize("door", DOORS)
def test_a_door_is_short_and_imported_by_nobody(door: str) -> None:
    assert len(MODULES[door].read_text(encoding="utf-8").splitlines()) < 150
    assert not [module for module in MODULES if door in own_imports(module)]


def test_importing_the_doors_loads_no_framework() -> None:
    frameworks = {"fastmcp", "langchain", "langchain_mcp_adapters", "pydantic_ai", "agents"}
    assert not loaded_by("import " + ", ".join(f"mcp_guard.{door}" for door in DOORS)) & frameworks


def loaded_by(statement: str) -> set[str]:
    """Top-level names of the modules that a fresh Python has loaded after this statement."""
    program = f"import json, sys\n{statement}\nprint(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)  # noqa: S603  # ours
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import mcp_guard") & (HEAVY | {"asyncio"})


def test_importing_the_whole_core_loads_nothing_heavy() -> None:
    core = ", ".join(f"mcp_guard.{name}" for name in MODULES if name in CORE)
    assert not loaded_by(f"import {core}") & HEAVY


def test_the_command_line_starts_light() -> None:
    assert not loaded_by("import mcp_guard.cli") & HEAVY


@pytest.mark.parametrize("module", MODULES)
def test_each_module_says_its_duty_in_one_line(module: str) -> None:
    text = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert text, f"{module} has no docstring"
    assert text.splitlines()[0].rstrip().endswith((".", ":")), f"{module}: its first line is no sentence"


def test_each_public_name_can_be_had_and_is_listed() -> None:
    assert len(mcp_guard.__all__) == len(set(mcp_guard.__all__))
    assert set(mcp_guard.__all__) <= set(dir(mcp_guard))
    for name in mcp_guard.__all__:
        assert getattr(mcp_guard, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        mcp_guard.no_such_name  # type: ignore[attr-defined]  # noqa: B018  # that is the point


def test_no_module_stands_in_the_place_of_a_public_name() -> None:
    assert not set(mcp_guard.__all__) & {name for name in MODULES if "." not in name}


def test_the_version_is_written_down_once() -> None:
    assert importlib.metadata.version("mcp-result-guard") == __version__ == mcp_guard.__version__
    lines = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in [*MODULES.values(), ROOT / "pyproject.toml"]
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r'(__version__|version)\s*(:.*)?= *"', line)
    ]
    assert lines == [f'src/mcp_guard/_version.py: __version__ = "{__version__}"']


def test_the_changelog_has_a_place_for_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"Unreleased", __version__} & set(headings)


def test_the_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def declared() -> dict[str, Requirement]:
    requirements = map(Requirement, importlib.metadata.requires("mcp-result-guard") or ())
    return {requirement.name: requirement for requirement in requirements}


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith("doors.")])
def test_whatever_is_imported_is_declared(module: str) -> None:
    known = {name.replace("-", "_") for name in declared()} | {"mcp_guard", "mcp_types", *sys.stdlib_module_names}
    if "opentelemetry_api" in known:
        known.add("opentelemetry")
    foreign = {name.partition(".")[0] for name in imports(module)} - known
    assert not foreign, f"{module} imports {foreign}: name them in pyproject.toml"


def test_the_lowest_versions_that_are_tried_are_the_lower_bounds() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for lowest in map(Requirement, groups["lowest"]):
        (pin,), bounds = lowest.specifier, declared()[lowest.name].specifier
        assert pin.version.removesuffix(".*") in {bound.version for bound in bounds if bound.operator == ">="}
