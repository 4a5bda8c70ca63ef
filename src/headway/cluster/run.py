"""Start the application on a Ray cluster, and stop it at a signal."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import ray
from ray import serve

from headway.cluster.deployment import ModelDeployment, application
from headway.errors import OptionError
from headway.server.run import Address
from headway.server.settings import Settings

APPLICATION = "headway"


def run(
    models: Sequence[ModelDeployment],
    settings: Settings,
    address: Address,
    *,
    cluster: str | None = None,
    num_ingresses: int = 1,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests that run have the time of the settings to end.

    cluster    address of a running Ray cluster, "auto" for that of this machine; None starts one here and ends it
    on_start   called with the server's URL when all replicas are ready

    Errors   OptionError for a cluster that cannot be reached.
    """
    stop = threading.Event()
    connect(cluster)
    for each in (signal.SIGINT, signal.SIGTERM):  # after ray.init, which installs a handler of its own
        signal.signal(each, lambda *_: stop.set())
    try:
        start(models, settings, address, num_ingresses=num_ingresses)
        if on_start:
            scheme = "https" if address.certificate else "http"
            host = f"[{address.host}]" if ":" in address.host else address.host
            on_start(f"{scheme}://{host}:{address.port}")
        stop.wait()
        with suppress(TimeoutError):  # Ray waits for a minute
            serve.delete(APPLICATION)
    finally:
        if cluster is None:
            serve.shutdown()
        ray.shutdown()


def connect(cluster: str | None) -> None:
    """Connect this process to a cluster, or start one on this machine.

    Errors   OptionError for a cluster that cannot be reached.
    """
    try:
        ray.init(address=cluster or "local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise OptionError(
            f"got --address {cluster}, expected a Ray cluster that can be reached ({error!s:.200})", hint="start one: ray start --head"
        ) from error


def start(models: Sequence[ModelDeployment], settings: Settings, address: Address, *, num_ingresses: int = 1) -> None:
    """Start the application; return when all replicas are ready. The same again replaces the replicas one after the other."""
    options = {
        "host": address.host,
        "port": address.port,
        "ssl_certfile": address.certificate,
        "ssl_keyfile": address.private_key,
    }
    # Connections end with the node that accepted them, so no other node accepts some where a single ingress is on the head node.
    serve.start(http_options=options, proxy_location="HeadOnly" if num_ingresses == 1 else "EveryNode")
    serve.run(application(models, settings, num_ingresses=num_ingresses), name=APPLICATION, route_prefix="/")
