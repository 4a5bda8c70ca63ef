"""Errors of Ray as those of Headway."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headway.errors import DeadlineError, HeadwayError, ResourceError, TokenIdError
from headway.server.errors import from_exception

pytest.importorskip("ray.serve", reason="needs the extra ray")

from ray.exceptions import ActorDiedError, GetTimeoutError, ObjectLostError, RayTaskError, TaskCancelledError
from ray.serve.exceptions import DeploymentUnavailableError, RayServeException, RequestCancelledError

from headway.cluster.deployment import Replicas


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (ActorDiedError(), ResourceError, 503),
        (TaskCancelledError(), ResourceError, 503),
        (ObjectLostError("", None, ""), ResourceError, 503),
        (RequestCancelledError("a"), ResourceError, 503),
        (DeploymentUnavailableError(SimpleNamespace(name="a", app_name="b")), ResourceError, 503),
        (RayServeException("a"), ResourceError, 503),
        (GetTimeoutError(), DeadlineError, 504),
        (TimeoutError(), DeadlineError, 504),
        (RayTaskError("f", "a traceback", TokenIdError("got 9, expected less")), TokenIdError, 400),
    ],
)
def test_errors_of_ray_are_those_of_headway(error: Exception, kind: type[HeadwayError], status: int) -> None:
    def fail(timeout_s: float) -> None:
        raise error

    response = SimpleNamespace(result=fail)
    handle = SimpleNamespace(embed=SimpleNamespace(remote=lambda key, texts: response))
    with pytest.raises(kind) as raised:
        Replicas("stories", handle, 1.0).embed(["a"])  # type: ignore[arg-type]
    assert from_exception(raised.value).status == status
