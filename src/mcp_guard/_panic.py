"""Tells what has to stop a program from what is a mere failure of a library. Raises nothing of its own."""

from __future__ import annotations


def contain(error: BaseException) -> None:
    """Let through what stops a program; a Rust panic is a `BaseException` too, and is a mere failure.

    Raises:
        BaseException: `error` itself, where it is no `Exception` and no panic.
    """
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
