"""The server of `headway look --serve` in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

from headway.look.models import TracedModel

TOKEN = "secret-of-the-test"


@dataclass
class Serving:
    """A running server."""

    model: TracedModel
    port: int

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/{TOKEN}/"


@contextmanager
def serving_look(model, prompt):
    """Serve the page of a model while the block runs."""
    import uvicorn

    from headway.look.serving import create_app

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(create_app(model, prompt, token=TOKEN, port=port), ws="none", log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Serving(model, port)
        finally:
            server.should_exit = True
            thread.join(600)
