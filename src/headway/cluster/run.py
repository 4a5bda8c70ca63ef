"""Start the application on a Ray cluster, and stop it at a signal."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import ray
from ray import serve
from ray.exceptions import RayError
from ray.serve.context import _get_global_client
from ray.serve.exceptions import RayServeException

from headway.cluster.deployment import LONGEST_SECONDS, ModelDeployment, application
from headway.errors import OptionError
from headway.server.run import Address
from headway.server.settings import Settings

APPLICATION = "headway"

PORT_SECONDS = 60.0
"""Longest wait for the port of an ingress that is ready."""

POLL_SECONDS = 0.5
"""Time after which a second signal is noticed."""


def run(
    models: Sequence[ModelDeployment],
    settings: Settings,
    address: Address,
    *,
    cluster: str | None = None,
    num_ingresses: int = 1,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests that run have the time of the settings to end, or until a second signal.

    cluster    address of a running Ray cluster, "auto" for that of this machine; None starts one here and ends it
    on_start   called with the server's URL when all replicas are ready

    Errors   OptionError for a cluster that cannot be reached, an address that cannot be used, and models that cannot be loaded there.
    """
    if cluster is None:  # ingresses share their port, so they would share it with another program of this user, too
        with address.listen() as listening:
            address = replace(address, port=listening.getsockname()[1])
    elif address.port == 0:
        raise OptionError("got --port 0 with --address, expected one port for the ingresses of all nodes", hint="choose a --port")
    stop, end = threading.Event(), threading.Event()
    connect(cluster)
    for each in (signal.SIGINT, signal.SIGTERM):  # after ray.init, which installs a handler of its own
        signal.signal(each, lambda *_: (end if stop.is_set() else stop).set())
    try:
        url = start(models, settings, address, num_ingresses=num_ingresses)
        if on_start:
            on_start(url)
        stop.wait()
        drain(settings, end)
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
    """Start the application; return its URL when all replicas are ready. The same again replaces the replicas one after the other.

    Errors   OptionError for a port that a proxy of Ray Serve has, and for an application that cannot be started, of which nothing is left.
    """
    serve.start(proxy_location="Disabled")
    status, client = serve.status(), _get_global_client()
    if status.proxies and client is not None and client.http_config.port == address.port:
        raise OptionError(
            f"got port {address.port}, which a proxy of Ray Serve has on this cluster", hint="choose another --port, or run: serve shutdown"
        )
    try:
        serve.run(application(models, settings, address, num_ingresses=num_ingresses), name=APPLICATION, route_prefix=None)
        port: int = serve.get_app_handle(APPLICATION).port.remote().result(timeout_s=PORT_SECONDS)
    except (RuntimeError, TimeoutError, RayError, RayServeException) as error:
        if APPLICATION not in status.applications:
            serve.delete(APPLICATION)
        raise OptionError(f"got models that cannot be served on this cluster ({error!s:.2000})", hint="see: serve status") from error
    return address.url(port)


def drain(settings: Settings, end: threading.Event) -> None:
    """Let all ingresses refuse new requests and end those that run.

    end   set if they should not wait for them any longer
    """
    draining = serve.get_app_handle(APPLICATION).broadcast("drain")
    seconds = min(settings.drain_seconds, LONGEST_SECONDS) + 5
    while seconds > 0 and not end.is_set():
        with suppress(TimeoutError):
            answers = draining.results(timeout_s=POLL_SECONDS, return_exceptions=True)  # a lost ingress has nothing left to end
            if not any(isinstance(answer, TimeoutError) for answer in answers):
                return
        seconds -= POLL_SECONDS
