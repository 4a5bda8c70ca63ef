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

    Errors   OptionError for a cluster that cannot be reached, or an address of this machine that cannot be used.
    """
    stop = threading.Event()
    if cluster is None:  # ingresses share their port, so they would share it with another program of this user, too
        address.listen().close()
    connect(cluster)
    for each in (signal.SIGINT, signal.SIGTERM):  # after ray.init, which installs a handler of its own
        signal.signal(each, lambda *_: stop.set())
    try:
        url = start(models, settings, address, num_ingresses=num_ingresses)
        if on_start:
            on_start(url)
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


def start(models: Sequence[ModelDeployment], settings: Settings, address: Address, *, num_ingresses: int = 1) -> str:
    """Start the application; return its URL when all replicas are ready. The same again replaces the replicas one after the other."""
    serve.start(proxy_location="Disabled")
    serve.run(application(models, settings, address, num_ingresses=num_ingresses), name=APPLICATION, route_prefix=None)
    port: int = serve.get_app_handle(APPLICATION).port.remote().result()
    return address.url(port)
