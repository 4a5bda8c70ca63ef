"""Hindrances to the start of an application on a cluster: a port of Ray's own proxy, models and files that cannot be read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import httpx
import pytest

import headway
from headway.errors import OptionError
from headway.language_model import load_without_kernels
from headway.server.run import Address
from headway.server.settings import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray"),
    pytest.mark.skipif("HEADWAY_CLUSTER" not in os.environ, reason="takes minutes; `make cluster` runs it"),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def proxy_port() -> Iterator[int]:
    """The port of Ray Serve's own proxy on a cluster of this machine, to which this process is connected."""
    import ray
    from ray import serve

    from headway.cluster.run import connect

    port = free_port()
    connect(None)
    try:
        serve.start(proxy_location="HeadOnly", http_options={"port": port})
        yield port
    finally:
        serve.shutdown()
        ray.shutdown()


def start(address: Address, source: str = "stories") -> str:
    from headway.cluster.deployment import ModelDeployment
    from headway.cluster.run import start

    model = ModelDeployment("stories", partial(headway.load, source, num_threads=1), partial(load_without_kernels, "stories"), num_cpus=0.1)
    return start([model], Settings(), address)


def test_the_port_of_rays_proxy_is_refused(proxy_port):
    with pytest.raises(OptionError, match=f"got port {proxy_port}, which a proxy of Ray Serve has"):
        start(Address(port=proxy_port))


@pytest.mark.parametrize("flaw", ["model", "certificate", "port"])
def test_nothing_is_left_of_an_application_that_cannot_start(proxy_port, flaw):
    from ray import serve

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if flaw == "port" else free_port()
        missing = "/no/such/file.pem" if flaw == "certificate" else None
        with pytest.raises(OptionError, match="cannot be served on this cluster"):
            start(Address(port=port, certificate=missing, private_key=missing), "/no/such/model" if flaw == "model" else "stories")
    assert not serve.status().applications
    url = start(Address(port=free_port()))
    try:
        assert httpx.get(f"{url}/health", timeout=600).status_code == 200
    finally:
        serve.delete("headway")
