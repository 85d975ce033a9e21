"""An app of the SDK's, served over HTTP on the loopback interface."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def serving(make: Callable[[], Any], port: int = 0) -> Generator[int]:
    """Serve an app on the loopback interface, made in a thread with an event loop of its own; gives the port."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        config = uvicorn.Config(make, factory=True, log_level="critical", ws="none", timeout_graceful_shutdown=0)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield bound.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()
