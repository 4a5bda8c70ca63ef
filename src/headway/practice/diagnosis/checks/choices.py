"""The choices of one convention from every group, with the inputs of the probes under each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headway.practice.diagnosis.calls.conventions import PLAIN, encoded_in
from headway.practice.exercise import Convention, Inputs, Probe

Encoders = tuple[Callable[[Inputs], Inputs | None], ...]
Encoded = tuple[Probe, Inputs, Encoders]
"""A probe, its encoded inputs, and the encoders that changed them."""


def combinations(
    groups: Sequence[Sequence[Convention]], encoded_probes: Sequence[Encoded], chosen: tuple[Convention, ...] = ()
) -> Iterator[tuple[tuple[Convention, ...], Sequence[Encoded]]]:
    """Yield every choice of one convention per group with the encoded probes, without choices that have no effect."""
    if not groups:
        yield chosen, encoded_probes
        return
    for convention in groups[0]:
        if convention.encode is PLAIN.encode:
            if convention is groups[0][0] or convention.steps or convention.decode is not PLAIN.decode:
                yield from combinations(groups[1:], encoded_probes, (*chosen, convention))
            continue
        again = [(probe, encoded_in(convention, inputs), ways) for probe, inputs, ways in encoded_probes]
        now: list[Encoded] = [
            (probe, encoded, ways if encoded is inputs else (*ways, convention.encode))
            for (probe, encoded, ways), (_, inputs, _) in zip(again, encoded_probes, strict=True)
            if encoded is not None
        ]
        is_idle = len(now) == len(encoded_probes) and all(one[1] is other[1] for one, other in zip(now, encoded_probes, strict=True))
        if now and (convention is groups[0][0] or not is_idle or convention.steps or convention.decode is not PLAIN.decode):
            yield from combinations(groups[1:], encoded_probes if is_idle else now, (*chosen, convention))
