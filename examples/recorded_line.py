"""Checks answers that were recorded earlier, one JSON line each. No session, no SDK object, nothing asynchronous."""

import json

from mcp_guard import Conforming, Contract, Violating, check

TOOL = """
{"name": "get_stock", "inputSchema": {"type": "object"}, "outputSchema": {
    "type": "object", "properties": {"quantity": {"type": "integer"}}, "required": ["quantity"]}}
"""
LINES = """
{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"quantity": 3}}}
{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "{\\"quantity\\": 3}"}]}}
{"jsonrpc": "2.0", "id": 3, "result": {"content": [], "structuredContent": {"quantity": "three"}}}
{"jsonrpc": "2.0", "id": 4, "result": {"content": [], "isError": true}}
"""


def main() -> None:
    """Say what each recorded answer is."""
    contract = Contract.from_tool(json.loads(TOOL))
    for line in LINES.strip().splitlines():
        answer = json.loads(line)
        verdict = check(answer["result"], contract)
        match verdict:
            case Conforming(value=value, source=source):
                print(f"{answer['id']}: {value} (from {source})")
            case Violating(violations=violations):
                print(f"{answer['id']}: {', '.join(v.describe() for v in violations)}")
            case _:
                print(f"{answer['id']}: {type(verdict).__name__}")


if __name__ == "__main__":
    main()
