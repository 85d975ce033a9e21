"""`ToolResult`: one answer to `tools/call`, whoever spelt it. The one place that knows the spelling; imports no SDK.

A raw dict, a 1.x `CallToolResult` (`isError`) and a 2.x one (`is_error`) all become the same JSON object, in which a
member is there only if it was sent. Large parts are not copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeGuard, final

from mcp_guard._facts import is_array, is_object
from mcp_guard._json import NotJson, parse_json
from mcp_guard.policy import Limits

LEGACY: Final = "2025-11-25"
"""The newest protocol version before structured content could be any JSON value."""
MODERN: Final = "2026-07-28"
"""The first one with `resultType`, and with structured content of any kind, `null` included (SEP-2106, SEP-2322)."""

BLOCK_TYPES: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""The content block types of the specification (schema, ContentBlock)."""


@final
@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer to `tools/call` as JSON, whoever spelt it; also what a reader of failures is given (`guard(readers=)`).

    `raw` is what came: a dict, or the SDK's object. `body` is the same as a JSON value, in which a member is there only
    if it was sent; `protocol` is the version whose rules hold. All of it is untrusted, and none of it is a copy: change
    nothing.
    """

    raw: Any = field(repr=False)
    body: Any = field(repr=False)
    protocol: str
    limits: Limits = field(default=Limits(), repr=False)
    """What bounds the reading of a text as JSON."""

    @classmethod
    def of(
        cls, result: object, *, protocol: str | None = None, body: Any = None, limits: Limits | None = None
    ) -> ToolResult:
        """Read a raw dict or an SDK's model (`result`), within `limits`. Never raises about what is in it.

        `body` is the JSON that `result` was made of, where it is at hand: a model may have changed it.
        `protocol` is the negotiated version; `None`: 2026-07-28 where `resultType` is present, else 2025-11-25.
        """
        if body is None:
            body = _dumped(result) if _is_model(result) else result
        if protocol is None:
            protocol = MODERN if is_object(body) and "resultType" in body else LEGACY
        return cls(result, body, protocol, limits or Limits())

    @property
    def modern(self) -> bool:
        """Whether the rules of 2026-07-28 or later hold."""
        return self.protocol >= MODERN

    @property
    def has_structured(self) -> bool:
        """Whether structured content is there: told by the key. An explicit null counts from 2026-07-28 on."""
        members = self._members
        return "structuredContent" in members and (members["structuredContent"] is not None or self.modern)

    @property
    def structured(self) -> Any:
        """The structured content, or `None` where it is absent."""
        return self._members.get("structuredContent")

    @property
    def blocks(self) -> list[Any]:
        """The content blocks, as sent."""
        content = self._members.get("content")
        return content if is_array(content) else []

    @property
    def texts(self) -> list[str]:
        """The texts of the text blocks, in order."""
        return [b["text"] for b in self.blocks if is_text_block(b)]

    @property
    def payload(self) -> Any:
        """What a machine made: the structured content, else the JSON of the one text block, else `None`.

        The text is parsed each time that this is asked for.
        """
        if self.has_structured:
            return self.structured
        texts = self.texts
        if len(texts) != 1:
            return None
        try:
            return parse_json(texts[0], self.limits)
        except NotJson:
            return None

    @property
    def is_error(self) -> bool:
        """Whether the tool said that it failed. Missing or null means no (specification, schema, CallToolResult)."""
        return self._members.get("isError") is True

    @property
    def marked_wrapped(self) -> bool:
        """Whether the result itself says that its value stands in a wrapper (`_meta.fastmcp.wrap_result`)."""
        meta = self._members.get("_meta")
        fastmcp = meta.get("fastmcp") if meta and is_object(meta) else None
        return is_object(fastmcp) and fastmcp.get("wrap_result") is True

    @property
    def _members(self) -> dict[str, Any]:
        return self.body if is_object(self.body) else {}


def is_text_block(block: object) -> bool:
    """Whether this is a text block with a text in it."""
    return is_object(block) and block.get("type") == "text" and isinstance(block.get("text"), str)


def is_known_block(block: Mapping[str, Any]) -> bool:
    """Whether the specification knows a block of this type."""
    kind = block.get("type")
    return isinstance(kind, str) and kind in BLOCK_TYPES and (kind != "text" or is_text_block(block))


class _Model(Protocol):
    """What is used of a pydantic model, for the type checkers."""

    model_fields_set: set[str]
    model_extra: dict[str, Any] | None
    model_fields: dict[str, Any]

    def model_dump(self, *, by_alias: bool, exclude_unset: bool, mode: str, warnings: bool) -> dict[str, Any]:
        """Give its members as a dict."""
        ...


def _is_model(value: object) -> TypeGuard[_Model]:
    return hasattr(type(value), "model_fields") and hasattr(value, "model_fields_set")


def _dumped(model: _Model) -> Any:
    """The JSON object that the model was made from. Structured content and unknown members are not copied."""
    body: dict[str, Any] = {}
    try:
        for name in model.model_fields_set:
            if (spelt := type(model).model_fields.get(name)) is not None:
                alias = spelt.serialization_alias or spelt.alias or name
                value = getattr(model, name)
                body[alias] = _blocks(value) if alias == "content" else value
        body.update(model.model_extra or {})
    except Exception:  # noqa: BLE001  # a model that can't be read is no JSON; the caller of `check` is told so
        return {"content": [], "unreadable": model}
    if "inputRequests" in body:  # an unfinished answer; nothing of it is judged
        body["inputRequests"] = {}
    return body


def _blocks(content: Any) -> Any:
    return [_block(x) for x in content] if is_array(content) else content


def _block(block: Any) -> Any:
    if not _is_model(block):
        return block
    # not mode="json": that would turn a NaN into a null, and hide it; a warning would quote the server
    dumped = block.model_dump(by_alias=True, exclude_unset=True, mode="python", warnings=False)
    for holder in (dumped, dumped.get("resource")):
        if is_object(holder) and "uri" in holder:
            holder["uri"] = str(holder["uri"])  # a URL object on 1.x
    kind = getattr(block, "type", None)  # a default in a model made by hand, and then not among what was set
    return {"type": kind, **dumped} if kind is not None else dumped
