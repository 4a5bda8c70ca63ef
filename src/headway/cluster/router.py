"""The request router of Ray Serve that places requests by their first page."""

from __future__ import annotations

from ray.serve.request_router import PendingRequest, RequestRouter, RunningReplica

from headway.cluster.placement import ranked


class PrefixRouter(RequestRouter):
    """Sends a call to the replica that its first argument, a placement key, ranks first and that has room."""

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """Return the replicas in groups, which are tried in turn."""
        if pending_request is None or not pending_request.args:
            return [candidate_replicas]
        by_id = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        loads = {name: self.replica_queue_len_cache.get(replica.replica_id) or 0 for name, replica in by_id.items()}
        return [[by_id[name]] for name in ranked(str(pending_request.args[0]), loads)]
