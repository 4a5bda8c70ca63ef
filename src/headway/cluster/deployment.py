"""The application on Ray Serve: the server's routes as ingress, and a deployment per model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import numpy
from ray import serve
from ray.exceptions import RayActorError, RayTaskError, TaskCancelledError, WorkerCrashedError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle, DeploymentResponseGenerator
from starlette.applications import Starlette

from headway.cluster.remote_engine import RemoteEngine, ReplicaLostError
from headway.cluster.replica import Replica
from headway.cluster.router import PrefixRouter
from headway.errors import DeadlineError, ResourceError
from headway.language_model import LanguageModel
from headway.server.app import create_app
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings

LOSSES = (RayActorError, WorkerCrashedError, TaskCancelledError)
"""Errors of Ray after which a request is repeated elsewhere."""


HEAD_NODE = "node:__internal_head__"
"""Resource of the node with Ray's control store, which a single ingress needs to be on: no other node's end stops both."""


@dataclass(frozen=True)
class ModelDeployment:
    """A model on the cluster.

    load                   loads it in a replica, with its kernels
    load_without_kernels   loads it in the ingress, for its tokenizer and templates
    num_cpus               cores that Ray reserves for a replica: the threads of the kernels
    """

    name: str
    load: Callable[[], LanguageModel]
    load_without_kernels: Callable[[], LanguageModel]
    num_replicas: int = 1
    num_cpus: float = 1
    chat_template: str | None = None


@serve.ingress()
class Ingress:
    """The routes of `headway serve`, with engines in the deployments of the models."""

    def __init__(self, models: Sequence[ModelDeployment], settings: Settings, *handles: DeploymentHandle) -> None:
        """Load the tokenizers."""
        served, engines = list[ServedModel](), dict[str, RemoteEngine]()
        for model, handle in zip(models, handles, strict=True):
            embedder = _embedder(model.name, handle, settings.timeout_seconds)
            served.append(ServedModel(model.name, model.load_without_kernels(), model.chat_template, embedder=embedder))
            engines[model.name] = RemoteEngine(_caller(handle))
        self._service = Service(served, settings, engine_thread=lambda each: engines[each.name])

    def __serve_build_asgi_app__(self) -> Starlette:
        return create_app(self._service)


def application(models: Sequence[ModelDeployment], settings: Settings, *, num_ingresses: int = 1) -> serve.Application:
    """Return the application, to be run by `serve.run`."""
    handles = [_replicas(model, settings).bind(model.load) for model in models]
    ingress = serve.deployment(
        name="ingress",
        num_replicas=num_ingresses,
        max_surge_percent=100,  # a new one accepts requests before the old one ends
        max_ongoing_requests=100_000,  # the server's own bounds answer 429
        graceful_shutdown_timeout_s=settings.timeout_seconds,  # replaced, it answers its requests to the end
        ray_actor_options={"num_cpus": 0, **({"resources": {HEAD_NODE: 0.001}} if num_ingresses == 1 else {})},
    )(Ingress)
    return ingress.bind(list(models), settings, *handles)


def _replicas(model: ModelDeployment, settings: Settings) -> serve.Deployment:
    return serve.deployment(
        name=f"model-{model.name.replace('/', '-')}",
        num_replicas=model.num_replicas,
        max_ongoing_requests=settings.max_waiting + 256,
        graceful_shutdown_timeout_s=settings.drain_seconds,
        health_check_period_s=5,
        ray_actor_options={"num_cpus": model.num_cpus},
        request_router_config={"request_router_class": PrefixRouter},
    )(Replica)


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


def _embedder(name: str, handle: DeploymentHandle, timeout_seconds: float) -> Callable[[list[str]], numpy.ndarray]:
    """Return a function that computes vectors in a replica; it waits, and is called from worker threads."""

    def embed(texts: list[str]) -> numpy.ndarray:
        try:
            vectors: numpy.ndarray = handle.embed.remote(f"{name}/{texts[0]}", texts).result(timeout_s=timeout_seconds)
        except RayTaskError as error:  # its text is a traceback
            raise error.cause from None
        except TimeoutError as error:
            raise DeadlineError(f"the request took longer than {timeout_seconds:g} seconds") from error
        except LOSSES as error:
            raise ResourceError(f"got no replica ({type(error).__name__}), expected one that answers") from error
        return vectors

    return embed
