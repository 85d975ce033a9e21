"""The reference: every public name stands in it, and has a docstring that says what it takes."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = sorted((ROOT / "docs" / "reference").glob("*.md"))
LISTED: Final = {
    name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.MULTILINE)
}
DOORS: Final = ("fastmcp", "langchain", "openai_agents", "pydantic_ai")
MODULES: Final = (
    *(
        "mcp_guard",
        "mcp_guard.contracts",
        "mcp_guard.errors",
        "mcp_guard.hooks",
        "mcp_guard.policy",
        "mcp_guard.records",
    ),
    *("mcp_guard.testing", "mcp_guard.testing.plugin", *(f"mcp_guard.doors.{door}" for door in DOORS)),
)
NOT_SHOWN: Final = {
    "mcp_guard.__version__",
    *(f"mcp_guard.Budget.{method}" for method in ("lacks", "note", "refuses", "spend")),  # for the guard
    "mcp_guard.contracts.FORMAT",  # what stands at the head of a lock file: docs/contracts.md
    "mcp_guard.contracts.VERSION",
    "mcp_guard.errors.shown_result_type",  # the package's own
    "mcp_guard.testing.plugin.pytest_configure",  # pytest's hooks
    "mcp_guard.testing.plugin.pytest_generate_tests",
}


def public(module: str) -> dict[str, Any]:
    """What a module has to give: its `__all__`, or what is defined in it without an underscore."""
    loaded = import_module(module)
    names = getattr(loaded, "__all__", None)
    if names is None:
        source = inspect.getsource(loaded)
        defined = re.findall(r"^(?:async )?(?:def |class )?([A-Za-z]\w*)(?=[(:\[]| *[:=] )", source, re.MULTILINE)
        names = [name for name in defined if not isinstance(getattr(loaded, name, TypeVar("T")), TypeVar)]
    return {f"{module}.{name}": getattr(loaded, name) for name in names if name != "otel_hook"}


NAMES: Final = {name: value for module in MODULES for name, value in public(module).items() if name not in NOT_SHOWN}


def home(name: str, value: Any) -> str:
    """Where the reference may have it instead: what is at hand at the top is shown where it is defined."""
    module = getattr(value, "__module__", None)
    short = name.rpartition(".")[2]
    elsewhere = [listed for listed in LISTED if listed.rpartition(".")[2] == short]
    same = [listed for listed in elsewhere if getattr(import_module(listed.rpartition(".")[0]), short, None) is value]
    return same[0] if same else f"{module}.{short}"


@pytest.mark.parametrize("name", NAMES)
def test_each_public_name_stands_in_the_reference(name: str) -> None:
    assert name in LISTED or home(name, NAMES[name]) in LISTED


def test_the_reference_has_no_name_that_is_not_there() -> None:
    for name in LISTED - {"mcp_guard.errors"}:
        module, _, short = name.rpartition(".")
        assert short in {*dir(import_module(module)), *getattr(import_module(module), "__all__", ())}, name


def callables() -> dict[str, Any]:
    """Each public function and class, and each public method that a class of ours defines."""
    found: dict[str, Any] = {}
    for name, value in NAMES.items():
        if inspect.isclass(value):
            found[name] = value
            own = {member: made for member, made in vars(value).items() if not member.startswith("_")}
            for member, made in own.items():
                function = made.__func__ if isinstance(made, classmethod | staticmethod) else made
                if inspect.isfunction(function) and f"{name}.{member}" not in NOT_SHOWN:
                    found[f"{name}.{member}"] = function
        elif inspect.isroutine(value):
            found[name] = value
    return found


CALLABLES: Final = callables()


@pytest.mark.parametrize("name", CALLABLES)
def test_each_public_callable_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(CALLABLES[name])


@pytest.mark.parametrize("name", [name for name, value in CALLABLES.items() if not inspect.isclass(value)])
def test_a_docstring_names_the_parameters_where_there_are_several(name: str) -> None:
    parameters = [each for each in inspect.signature(CALLABLES[name]).parameters if each not in {"self", "cls", "same"}]
    said = inspect.getdoc(CALLABLES[name]) or ""
    if len(parameters) > 1 and not said.startswith("See `"):
        assert not [each for each in parameters if not re.search(rf"\b{each}\b", said)]


@pytest.mark.parametrize("name", [name for name, value in CALLABLES.items() if not inspect.isclass(value)])
def test_a_docstring_tells_of_what_its_function_raises(name: str) -> None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(CALLABLES[name])))
    raised = {
        ast.unparse(node.exc).partition("(")[0] for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc
    }
    said = (inspect.getdoc(CALLABLES[name]) or "").partition("Raises:")[2]
    assert not {error for error in raised if error[:1].isupper() and not re.search(rf"\b{error}\b", said)}
