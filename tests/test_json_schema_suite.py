"""The official JSON-Schema-Test-Suite: the required part in full, the optional part as far as the engine goes."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_guard import _engine
from mcp_guard._contract import Contract
from mcp_guard._dialects import URIS, Dialect

SUITE = Path(__file__).parent / "data" / "json-schema-test-suite"
DRAFTS: dict[str, Dialect] = {
    "draft4": "draft4",
    "draft6": "draft6",
    "draft7": "draft7",
    "draft2019-09": "draft2019-09",
    "draft2020-12": "draft2020-12",
}
REQUIRED = sorted((draft, path.name) for draft in DRAFTS for path in (SUITE / "tests" / draft).glob("*.json"))
OPTIONAL = sorted(
    (draft, path.relative_to(SUITE / "tests" / draft / "optional").as_posix())
    for draft in DRAFTS
    for path in (SUITE / "tests" / draft / "optional").rglob("*.json")
)


@functools.cache
def remotes(draft: str) -> dict[str, Any]:
    """The documents that the suite expects at its server, but for those of other drafts."""
    found = {}
    for path in (SUITE / "remotes").rglob("*.json"):
        name = path.relative_to(SUITE / "remotes").as_posix()
        folder = name.partition("/")[0]
        if folder == draft or folder not in DRAFTS:
            found[f"http://localhost:1234/{name}"] = json.loads(path.read_text("utf-8"))
    return found


def groups(draft: str, *parts: str) -> Iterator[tuple[dict[str, Any], str, list[dict[str, Any]]]]:
    """Each schema of a file as an object that says its dialect, with its title and its cases."""
    for group in json.loads(SUITE.joinpath("tests", draft, *parts).read_text("utf-8")):
        schema = group["schema"]
        if isinstance(schema, bool):  # a tool's schema has to be an object
            schema = {"allOf": [schema]}
        yield {"$schema": URIS[DRAFTS[draft]], **schema}, group["description"], group["tests"]


@pytest.mark.parametrize("draft, name", REQUIRED)
def test_every_required_case_is_decided_as_the_suite_says(draft: str, name: str) -> None:
    wrong = []
    for schema, title, cases in groups(draft, name):
        contract = Contract("tool", schema, resources=remotes(draft))
        for case in cases:
            if contract.output is None:
                wrong.append(f"{title}: {contract.unusable}")
            elif contract.output.is_valid(case["data"]) is not case["valid"]:
                wrong.append(f"{title}: {case['description']}")
    assert not wrong


@pytest.mark.skipif(not _engine.available(), reason="compares with jsonschema-rs")
@pytest.mark.parametrize("draft, name", OPTIONAL)
def test_an_optional_case_is_decided_at_least_as_well_as_by_the_bare_engine(draft: str, name: str) -> None:
    formats = name.startswith("format")
    wrong = []
    for schema, title, cases in groups(draft, "optional", *name.split("/")):
        contract = Contract("tool", schema, resources=remotes(draft))
        for case in cases:
            ours = contract.output is not None and contract.output.is_valid(case["data"], formats=formats)
            if ours is not case["valid"] and bare(schema, draft, case["data"], formats=formats) is case["valid"]:
                wrong.append(f"{title}: {case['description']}: {contract.unusable}")
    assert not wrong


def bare(schema: dict[str, Any], draft: str, value: Any, *, formats: bool) -> bool | None:
    """What jsonschema-rs says without anything of ours; `None` where it refuses the schema."""
    import jsonschema_rs

    validator = getattr(jsonschema_rs, f"Draft{draft.removeprefix('draft').replace('-', '')}Validator")
    try:
        registry = jsonschema_rs.Registry(list(remotes(draft).items()))
        made = validator(schema, registry=registry, validate_formats=formats, offline=True)
    except ValueError:
        return None
    decided: bool = made.is_valid(value)
    return decided


def test_the_suite_is_all_there() -> None:
    assert {draft for draft, _ in REQUIRED} == set(DRAFTS)
    assert len(REQUIRED) > 150  # a path that leads nowhere would pass everything
    assert len(OPTIONAL) > 80
