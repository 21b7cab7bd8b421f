"""Servers around the host, for planted faults."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def greeting_server(*lines: bytes) -> Iterator[int]:
    """A server that greets, and answers each line with the next of these; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client, client.makefile("rb") as asked:
                for line in lines:
                    client.sendall(line)
                    asked.readline()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)
