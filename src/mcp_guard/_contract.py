"""`Contract`: what one tool promised. Read once, in any spelling; raises nothing about what it reads."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast, final

from mcp_guard import _words
from mcp_guard._canonical import Flaw, canonical_json, plain, values_of
from mcp_guard._documents import leads_out
from mcp_guard._facts import Unusable
from mcp_guard._kept import Kept
from mcp_guard._schema import CompiledSchema, compile_copy
from mcp_guard.policy import Limits

if TYPE_CHECKING:
    from mcp_guard._dialects import Dialect


class _Absent:
    """What no caller and no server can mean by a value."""

    def __repr__(self) -> str:
        return "<absent>"

    def __reduce__(self) -> str:
        return "_ABSENT"


_ABSENT: Final = _Absent()
_OTHERS_DEPTH: Final = 200
_MEMBERS: Final = 1_000
_KEYS: Final = {"outputSchema": "output_schema", "inputSchema": "input_schema"}
_READ_FIRST: Final = ("name", "outputSchema", "inputSchema")
_LEAST: Final = 10
"""Values that each member may have, whatever the others have."""
PARTS: Final = ("description", "inputSchema", "outputSchema", "annotations")
"""What of a definition a caller relies on: each has a fingerprint of its own."""


@final
class Contract:
    """What one tool promised: its name, its schemas, its fingerprints. The output schema is compiled at once.

    `definition` is the tool as it was listed, where there is more to it than the other arguments say. `resources` are
    documents by URI that a reference of the schemas may lead to. With `defer` the output schema is compiled only when
    it is first asked for. Two contracts are equal where their definitions are.

    Raises:
        TypeError: `name` is no `str`, `limits` no `Limits`, or `definition` or `resources` no mapping.
    """

    def __init__(  # the parts of a definition
        self,
        name: str,
        output_schema: object = _ABSENT,
        *,
        input_schema: object = _ABSENT,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        resources: Mapping[str, dict[str, Any]] | None = None,
        definition: Mapping[str, Any] | None = None,
        defer: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"Contract takes the tool's name, a str, not {type(name).__name__}; see Contract.from_tool")
        if not isinstance(limits, (Limits, type(None))):
            raise TypeError("Contract(limits=) takes a Limits, for example Limits(depth=50)")
        for argument, given in (("definition", definition), ("resources", resources)):
            if not isinstance(given, (Mapping, type(None))):
                raise TypeError(f"Contract({argument}=) takes a mapping, not {type(given).__name__}")
        members: dict[Any, Any] = dict(definition or {})
        members["name"] = name
        parts = {
            "description": description if description is not None else _ABSENT,
            "annotations": annotations if annotations is not None else _ABSENT,
            "inputSchema": input_schema,
            "outputSchema": output_schema,
        }
        members.update({key: part for key, part in parts.items() if part is not _ABSENT})
        self._limits = limits or Limits()
        self._resources = dict(resources or {})
        self.name: str = name
        """On the wire."""
        self._definition = self._read(members)
        self._kept: Kept | None = None
        self._output: CompiledSchema | Unusable | _Absent | None = _ABSENT
        if not defer:
            self._compiled()
        self._input: CompiledSchema | Unusable | _Absent | None = _ABSENT
        self._fingerprint: str | None = None
        self._output_fingerprint: str | None = None

    @classmethod
    def from_tool(
        cls,
        tool: Any,
        *,
        limits: Limits | None = None,
        resources: Mapping[str, dict[str, Any]] | None = None,
        defer: bool = False,
    ) -> Contract:
        """The contract of a tool as it stands in a listing.

        Args:
            tool: A mapping, or the `Tool` of either SDK major.
            limits: As the constructor takes them.
            resources: The same.
            defer: The same.

        Raises:
            TypeError: `tool` is neither.
        """
        definition = _definition_of(tool)
        name = definition.get("name")
        named = name if isinstance(name, str) else ""
        contract = cls(named, limits=limits, resources=resources, definition=definition, defer=defer)
        if named is not name:
            contract._output = Unusable("invalid_schema", "the tool has no name")
        return contract

    @property
    def unusable(self) -> Unusable | None:
        """Why this contract can't be enforced; `None` where it can."""
        if isinstance(self._output, CompiledSchema):
            return None
        output = self._compiled()
        return output if isinstance(output, Unusable) else None

    @property
    def output(self) -> CompiledSchema | None:
        """The compiled outputSchema; `None` where none is declared, or it can't be used."""
        output = self._compiled()
        return output if isinstance(output, CompiledSchema) else None

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as it was listed, a copy; a part that is no JSON or too large to keep is left out."""
        return {key: copy.deepcopy(part) for key, part in self._definition.items() if not isinstance(part, Flaw)}

    @property
    def description(self) -> str | None:
        """The server's words about the tool."""
        words = self._definition.get("description")
        return words if isinstance(words, str) else None

    @property
    def output_schema(self) -> Any:
        """The outputSchema as it was sent; `None` where there is none, or it is no JSON or too large to keep."""
        schema = self._definition.get("outputSchema")
        return None if isinstance(schema, Flaw) else schema

    @property
    def input_schema(self) -> Any:
        """The inputSchema as it was sent; `None` where there is none, or it is no JSON or too large to keep."""
        schema = self._definition.get("inputSchema")
        return None if isinstance(schema, Flaw) else schema

    @property
    def declares_output(self) -> bool:
        """Whether an outputSchema is declared at all. `null` is as absent."""
        return self._definition.get("outputSchema") is not None

    @property
    def input(self) -> CompiledSchema | None:
        """The compiled inputSchema, made when it is first asked for; `None` where none is declared or can be used."""
        made = self._input
        if isinstance(made, _Absent):
            self._input = made = self._made(self._definition.get("inputSchema"))
        return self._used(made) if isinstance(made, CompiledSchema) else None

    @property
    def input_unusable(self) -> Unusable | None:
        """Why arguments can't be held against the inputSchema; `None` where they can be, or none is declared."""
        return self._input if self.input is None and isinstance(self._input, Unusable) else None

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the outputSchema, where it can be used."""
        return None if self.output is None else self.output.dialect

    @property
    def wrapped(self) -> bool:
        """Whether the schema says that its one property is a wrapper round the tool's own value."""
        schema = self.output_schema
        return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("x-fastmcp-wrap-result") is True

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the whole definition (RFC 8785), in hexadecimal digits."""
        if self._fingerprint is None:
            marked = {key: _marked(part) for key, part in self._definition.items()}
            self._fingerprint = _digest(marked, simple=self._simple)
        return self._fingerprint

    @property
    def output_fingerprint(self) -> str | None:
        """SHA-256 of the outputSchema (RFC 8785), in hexadecimal digits; `None` where none is declared."""
        if self._output_fingerprint is None and self.declares_output:
            self._output_fingerprint = _digest(_marked(self._definition["outputSchema"]), simple=self._simple)
        return self._output_fingerprint

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """SHA-256 of each of the parts that a caller relies on (RFC 8785); `None` where there is none."""
        parts = {key: self._definition.get(key) for key in PARTS}
        return {
            key: None if part is None else _digest(_marked(part), simple=self._simple) for key, part in parts.items()
        }

    @property
    def flaws(self) -> dict[str, Flaw]:
        """Why a part of the definition is not kept."""
        return {key: part for key, part in self._definition.items() if isinstance(part, Flaw)}

    @property
    def size(self) -> int:
        """Characters of the definition's text, also of what was too large to be kept, as far as that was read."""
        return self._size

    @property
    def resources(self) -> Mapping[str, dict[str, Any]]:
        """The documents by URI that a reference of the schemas may lead to."""
        return MappingProxyType(self._resources)

    @property
    def refers_elsewhere(self) -> bool:
        """Whether a reference in its schemas may lead out of them: a look at the words, without compiling them."""
        return any(map(leads_out, (self.output_schema, self.input_schema)))

    @property
    def lacking(self) -> tuple[str, ...]:
        """The URIs of the documents that its schemas refer to and that are not there, without a fragment.

        Empty where none is lacking, or where they would be of no use.
        """
        if self.unusable is not None and self.unusable.reason != "remote_ref":
            return ()
        _ = self.input  # compiles it
        parts = (self._output, self._input)
        return tuple(dict.fromkeys(uri for part in parts if isinstance(part, Unusable) for uri in part.documents))

    def with_resources(self, resources: Mapping[str, dict[str, Any]]) -> Contract:
        """The same contract with more documents by URI. What lacked some is made again when it is asked for."""
        twin = copy.copy(self)
        twin._resources = {**self._resources, **resources}  # noqa: SLF001  # of the same class
        twin._output = _again(self._output)  # noqa: SLF001  # the same
        twin._input = _again(self._input)  # noqa: SLF001  # the same
        return twin

    def without_resources(self, detail: str) -> Contract:
        """The same contract, unusable since what it lacks can't be had. `detail` says why, in our own words."""
        twin = copy.copy(self)
        if isinstance(self._output, Unusable) and self._output.documents:
            twin._output = replace(self._output, detail=detail)  # noqa: SLF001  # of the same class
        return twin

    @property
    def is_ambiguous(self) -> bool:
        """Whether the server listed another tool of this name."""
        return isinstance(self._output, Unusable) and self._output.reason == "ambiguous"

    def ambiguous(self) -> Contract:
        """The same contract, unusable since the server lists another tool of this name."""
        twin = copy.copy(self)
        ambiguous = Unusable("ambiguous", "the server lists two different tools of this name")
        twin._output = ambiguous  # noqa: SLF001  # of the same class
        return twin

    @property
    def held(self) -> int:
        """Bytes that what is compiled of it holds, about."""
        output, arguments = self._output, self._input
        held = output.held if isinstance(output, CompiledSchema) else 0
        return held + (arguments.held if isinstance(arguments, CompiledSchema) else 0)

    def keep_in(self, kept: Kept) -> None:
        """Compile from now on only while `kept` has room."""
        self._kept = kept
        if CompiledSchema in map(type, (self._output, self._input)):
            kept.use(self)

    def forget(self) -> None:
        """Let go of what was compiled; it is compiled anew when it is asked for."""
        self._output = _ABSENT if isinstance(self._output, CompiledSchema) else self._output
        self._input = _ABSENT if isinstance(self._input, CompiledSchema) else self._input

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}  # a copy belongs to nobody yet

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Contract) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Contract({_words.name(self.name)!r}, {self.fingerprint[:12]})"

    def _read(self, members: dict[Any, Any]) -> dict[str, Any]:
        """Copies of the members, a `Flaw` where there is none. All share what may be copied, the schemas first."""
        named = dict(islice(((key, part) for key, part in members.items() if isinstance(key, str)), _MEMBERS))
        kept: dict[str, Any] = {}
        limits = self._limits
        room, values = limits.schema_bytes, values_of(limits)
        self._size = 0
        self._simple = True
        for key in sorted(named, key=_rank):
            part = named[key]
            if isinstance(part, Flaw):  # what was saved as not kept
                kept[key] = part
                self._simple = False
                continue
            if key in _KEYS:
                copied = plain(part, depth=limits.schema_depth, size=limits.schema_bytes, values=values)
            else:
                copied = plain(part, depth=_OTHERS_DEPTH, size=room, values=values)
                room -= 0 if isinstance(copied, Flaw) else copied.size
            kept[key] = copied if isinstance(copied, Flaw) else copied.value
            self._size += len(key) + (copied.found if isinstance(copied, Flaw) else copied.size)
            values = max(values - copied.values, _LEAST)
            self._simple = self._simple and key.isascii() and not isinstance(copied, Flaw) and copied.simple
        return {key: kept[key] for key in named}

    def _compiled(self) -> CompiledSchema | Unusable | None:
        made = self._output
        if isinstance(made, _Absent):
            self._output = made = self._made(self._definition.get("outputSchema"))
        return self._used(made) if isinstance(made, CompiledSchema) else made

    def _used(self, schema: CompiledSchema) -> CompiledSchema:
        if self._kept is not None:
            self._kept.use(self)
        return schema

    def _made(self, schema: object) -> CompiledSchema | Unusable | None:
        return None if schema is None else compile_copy(schema, self._limits, self._resources)


def _again(part: CompiledSchema | Unusable | _Absent | None) -> CompiledSchema | Unusable | _Absent | None:
    return _ABSENT if isinstance(part, Unusable) and part.documents else part


def _rank(key: str) -> int:
    return _READ_FIRST.index(key) if key in _READ_FIRST else len(_READ_FIRST)


def _marked(part: Any) -> Any:
    return ["\0flaw", part.code, part.found] if isinstance(part, Flaw) else part


def _digest(value: Any, *, simple: bool) -> str:
    return hashlib.sha256(canonical_json(value, simple=simple) or b"").hexdigest()


def _definition_of(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return cast("Mapping[str, Any]", tool)
    dump = getattr(tool, "model_dump", None)
    if not callable(dump):
        raise TypeError(
            f"from_tool takes a tool of a listing, as a mapping or an SDK's Tool, not {type(tool).__name__}"
        )
    try:
        definition: Any = dump(by_alias=True, exclude_unset=True, mode="json")
    except Exception:  # noqa: BLE001  # a schema that is too deep for the SDK: take it as it is
        read = {key: getattr(tool, key, None) for key in ("name", "description")}
        # the spelling of 2.x first: FastMCP gives its models that of 1.x as well, with a warning
        read |= {wire: getattr(tool, ours if hasattr(tool, ours) else wire, None) for wire, ours in _KEYS.items()}
        return {key: part for key, part in read.items() if part is not None}
    return cast("Mapping[str, Any]", definition if isinstance(definition, Mapping) else {})
