"""The application on Ray Serve: the server's routes as ingress, and a deployment per model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from ray import serve
from ray.exceptions import RayActorError, RayError, RayTaskError, TaskCancelledError, WorkerCrashedError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle, DeploymentResponse, DeploymentResponseGenerator

from headway.cluster.remote_engine import RemoteEngine, ReplicaLostError
from headway.cluster.replica import Replica
from headway.cluster.router import PrefixRouter
from headway.errors import DeadlineError, ResourceError
from headway.language_model import LanguageModel
from headway.language_model.classifier import Ranked
from headway.server.run import CLOSE_SECONDS, Address, drain, make_server
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings

LOSSES = (RayActorError, WorkerCrashedError, TaskCancelledError)
"""Errors of Ray after which a request is repeated elsewhere."""

LONGEST_SECONDS = 86_400.0
"""Longest time that Ray is given for a request; the time of the settings may be infinite, which Ray does not take."""

STATS_SECONDS = 2.0
"""Longest wait for the figures of the replicas."""

HEAD_NODE = "node:__internal_head__"
"""Resource of the node with Ray's control store, which a single ingress needs to be on: no other node's end stops both."""


@dataclass(frozen=True)
class ModelDeployment:
    """A model on the cluster.

    load                   loads it in a replica, with its kernels
    load_without_kernels   loads it in the ingress, for its tokenizer and templates
    num_cpus               cores that Ray reserves for a replica: the threads of the kernels
    adapters               names of the adapters that `load` loads
    """

    name: str
    load: Callable[[], LanguageModel]
    load_without_kernels: Callable[[], LanguageModel]
    num_replicas: int = 1
    num_cpus: float = 1
    chat_template: str | None = None
    adapters: tuple[str, ...] = ()


class Ingress:
    """The routes of `headway serve`, with engines in the deployments of the models.

    It listens itself: a proxy of Ray is one more process on the way of every event, which takes 7 ms for the first one.
    """

    def __init__(self, models: Sequence[ModelDeployment], settings: Settings, address: Address, *handles: DeploymentHandle) -> None:
        """Load the tokenizers, and listen. The ingress that this one replaces listens on the same port until it ends."""
        served, engines = list[ServedModel](), dict[str, RemoteEngine]()
        for model, handle in zip(models, handles, strict=True):
            remote = Replicas(model.name, handle, _request_seconds(settings))
            served.append(
                ServedModel(model.name, model.load_without_kernels(), model.chat_template, remote=remote, adapters=model.adapters)
            )
            engines[model.name] = RemoteEngine(_caller(handle))
        self._handles, self._engines = dict(zip(engines, handles, strict=True)), engines
        self._service = Service(served, settings, engine_thread=lambda each: engines[each.name], refresh=self._refresh)
        self._server = make_server(self._service, address, close_seconds=_request_seconds(settings))
        listening = address.listen(is_shared=True)
        self._port: int = listening.getsockname()[1]
        self._serving = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listening]))

    def port(self) -> int:
        """Return the port on which it listens."""
        return self._port

    async def check_health(self) -> None:
        """Wait until the server has started; raise an error if it has ended. Serve then starts another ingress."""
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0.01)
        if self._serving.done():
            self._serving.result()
            raise RuntimeError("the server has ended")

    async def drain(self) -> None:
        """Answer new requests with 503, and end those that run: in their own time, or with an error after that of the settings."""
        await drain(self._service)
        self._server.config.timeout_graceful_shutdown = math.ceil(CLOSE_SECONDS)  # no request is left that needs more

    async def __del__(self) -> None:
        """Accept no more connections, and close each open one after its answer. Serve awaits this before it ends the process."""
        self._server.should_exit = True
        await self._serving

    async def _refresh(self) -> None:
        """Ask all replicas for their figures. Those that do not answer in time are left out."""
        await asyncio.gather(*(self._refresh_model(name) for name in self._engines))

    async def _refresh_model(self, name: str) -> None:
        try:
            answers = await self._handles[name].broadcast("stats").results_async(timeout_s=STATS_SECONDS, return_exceptions=True)
        except (TimeoutError, RayError, RayServeException):
            answers = []
        self._engines[name].stats = dict(answer for answer in answers if isinstance(answer, tuple))


def application(models: Sequence[ModelDeployment], settings: Settings, address: Address, *, num_ingresses: int = 1) -> serve.Application:
    """Return the application, to be run by `serve.run`."""
    handles = [_replicas(model, settings).bind(model.load) for model in models]
    ingress = serve.deployment(
        name="ingress",
        num_replicas=num_ingresses,
        max_surge_percent=100,  # a new one accepts requests before the old one ends
        graceful_shutdown_timeout_s=_request_seconds(settings),  # replaced, it answers its requests to the end
        ray_actor_options={"num_cpus": 0, **({"resources": {HEAD_NODE: 0.001}} if num_ingresses == 1 else {})},
    )(Ingress)
    return ingress.bind(list(models), settings, address, *handles)


def _replicas(model: ModelDeployment, settings: Settings) -> serve.Deployment:
    return serve.deployment(
        name=f"model-{model.name.replace('/', '-')}",
        num_replicas=model.num_replicas,
        max_ongoing_requests=settings.max_waiting + 256,
        graceful_shutdown_timeout_s=min(settings.drain_seconds, LONGEST_SECONDS),
        health_check_period_s=5,
        ray_actor_options={"num_cpus": model.num_cpus},
        request_router_config={"request_router_class": PrefixRouter},
    )(Replica)


def _request_seconds(settings: Settings) -> float:
    """Return the longest time of a request."""
    return min(settings.timeout_seconds, LONGEST_SECONDS)


def _caller(handle: DeploymentHandle) -> Callable[[str, bytes], AsyncIterator[bytes]]:
    """Return a function that calls `Replica.generate` of a deployment."""

    async def call(key: str, message: bytes) -> AsyncIterator[bytes]:
        response = handle.options(method_name="generate", stream=True).remote(key, message)
        assert isinstance(response, DeploymentResponseGenerator)
        try:
            async for each in response:
                yield each
        except LOSSES as error:
            raise ReplicaLostError(type(error).__name__) from error
        except RayServeException as error:
            raise ResourceError(f"got no replica ({type(error).__name__}), expected one that answers", hint="see serve status") from error
        except asyncio.CancelledError:
            response.cancel()
            raise

    return call


class Replicas:
    """The replicas of a model as a RemoteModel: each call goes to one of them."""

    def __init__(self, name: str, handle: DeploymentHandle, timeout_seconds: float) -> None:
        """Take the handle of the deployment of a model."""
        self._name, self._handle, self._timeout_seconds = name, handle, timeout_seconds

    def embed(self, texts: list[str]) -> numpy.ndarray:
        """See RemoteModel."""
        vectors: numpy.ndarray = self._result(self._handle.embed.remote(f"{self._name}/{texts[0]}", texts))
        return vectors

    def rank(self, query: str, texts: list[str], top_k: int | None, cuts: bool) -> list[Ranked]:
        """See RemoteModel."""
        ranked: list[Ranked] = self._result(self._handle.rank.remote(f"{self._name}/{query}", query, texts, top_k, cuts))
        return ranked

    def _result(self, response: DeploymentResponse | DeploymentResponseGenerator) -> Any:
        """Return the result of a call.

        Errors   those of the replica; DeadlineError; ResourceError for a replica that is lost or cannot be reached.
        """
        try:
            return response.result(timeout_s=self._timeout_seconds)
        except RayTaskError as error:  # its text is a traceback
            raise error.cause from None
        except TimeoutError as error:
            raise DeadlineError(f"the request took longer than {self._timeout_seconds:g} s") from error
        except (RayError, RayServeException) as error:
            raise ResourceError(f"got no replica ({type(error).__name__}), expected one that answers", hint="see serve status") from error
