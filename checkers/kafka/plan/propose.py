"""Proposals of `reassure plan --generate`."""

from __future__ import annotations

from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.placement import PlacementError, RackMode, assign


def propose(
    cluster: ClusterFile,
    current: Assignment,
    brokers: list[int],
    replication_factor: int | None,
    ignore_racks: bool = False,
    start_index: int = 0,
) -> Assignment:
    """A rack-aware target for all partitions (KIP-36), topic after topic, each beginning where the last one ended.

    replication_factor: None keeps each topic's own. A broker that is fenced, in controlled shutdown,
    or has all its log directories cordoned gets nothing.
    """
    if unknown := [b for b in brokers if b not in cluster.racks]:
        raise Failure(Exit.CONFIG, f"broker {unknown[0]} is not in the cluster")
    if faulty := [b for b in brokers if b in cluster.faults]:
        raise Failure(Exit.CONFIG, f"broker {faulty[0]} is {cluster.faults[faulty[0]]}")
    if cordoned := [b for b in brokers if b in cluster.cordoned]:
        raise Failure(Exit.CONFIG, f"all log directories of broker {cordoned[0]} are cordoned")
    usable = set(cluster.racks) - cluster.cordoned - set(cluster.faults)
    racks = {b: cluster.racks[b] for b in sorted(brokers or usable)}
    if not racks:
        every = "all log directories of every broker are cordoned"
        raise Failure(
            Exit.CONFIG, "every broker is fenced, in controlled shutdown or cordoned" if cluster.faults else every
        )
    mode = RackMode.IGNORE if ignore_racks else RackMode.REFUSE_SOME
    proposal: Assignment = {}
    for topic in sorted({t for t, _ in current}):
        mine = sorted(p for p in current if p[0] == topic)
        factors = {len(current[p]) for p in mine}
        if replication_factor is None and len(factors) > 1:
            several = " and ".join(str(f) for f in sorted(factors))
            raise Failure(Exit.CONFIG, f"partitions of {topic} have {several} replicas; give --replication-factor")
        shift, start = divmod(start_index + len(proposal), len(racks))
        factor = replication_factor or factors.pop()
        try:
            assigned = assign(racks, len(mine), factor, start_index=start, shift=shift, mode=mode)
        except PlacementError as error:
            hint = "; --ignore-racks places without racks" if "no rack" in str(error) else ""
            raise Failure(Exit.CONFIG, f"{topic}: {error}{hint}") from None
        proposal |= {p: assigned[i] for i, p in enumerate(mine)}
    return proposal
