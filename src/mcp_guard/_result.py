"""`ToolResult`: one answer to `tools/call`, whoever spelt it. The one place that knows the spelling; imports no SDK.

A raw dict, a 1.x `CallToolResult` (`isError`) and a 2.x one (`is_error`) all become the same JSON object, in which a
member is there only if it was sent. Large parts are not copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeGuard, final

from mcp_guard._facts import is_array, is_object

LEGACY: Final = "2025-11-25"
"""The newest protocol version before structured content could be any JSON value."""
MODERN: Final = "2026-07-28"
"""The first one with `resultType`, and with structured content of any kind, `null` included (SEP-2106, SEP-2322)."""

BLOCK_TYPES: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""The content block types of the specification (schema, ContentBlock)."""


@final
@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer to `tools/call` as JSON: `raw` is what came, `body` the same as a JSON value, `protocol` its rules."""

    raw: Any = field(repr=False)
    body: Any = field(repr=False)
    protocol: str

    @classmethod
    def of(cls, result: object, *, protocol: str | None = None, body: Any = None) -> ToolResult:
        """Read a raw dict or an SDK's model. Never raises about what is in it.

        `body` is the JSON that `result` was made of, where it is at hand: a model may have changed it.
        `protocol` is the negotiated version; `None`: 2026-07-28 where `resultType` is present, else 2025-11-25.
        """
        if body is None:
            body = _dumped(result) if _is_model(result) else result
        if protocol is None:
            protocol = MODERN if is_object(body) and "resultType" in body else LEGACY
        return cls(result, body, protocol)

    @property
    def modern(self) -> bool:
        """Whether the rules of 2026-07-28 or later hold."""
        return self.protocol >= MODERN

    @property
    def has_structured(self) -> bool:
        """Whether structured content is there: told by the key. An explicit null counts from 2026-07-28 on."""
        body = self.body
        return "structuredContent" in body and (self.modern or body["structuredContent"] is not None)

    @property
    def structured(self) -> Any:
        """The structured content, or `None` where it is absent."""
        return self.body.get("structuredContent")

    @property
    def blocks(self) -> list[Any]:
        """The content blocks, as sent."""
        content = self.body.get("content")
        return content if is_array(content) else []

    @property
    def texts(self) -> list[str]:
        """The texts of the text blocks, in order."""
        return [b["text"] for b in self.blocks if is_text_block(b)]

    @property
    def is_error(self) -> bool:
        """Whether the tool said that it failed. Missing or null means no (specification, schema, CallToolResult)."""
        return self.body.get("isError") is True

    @property
    def marked_wrapped(self) -> bool:
        """Whether the result itself says that its value stands in a wrapper (`_meta.fastmcp.wrap_result`)."""
        meta = self.body.get("_meta")
        fastmcp = meta.get("fastmcp") if is_object(meta) else None
        return is_object(fastmcp) and fastmcp.get("wrap_result") is True


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
