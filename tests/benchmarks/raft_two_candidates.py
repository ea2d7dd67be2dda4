"""Raft's change of members as first published, where two of the servers stand: small enough for TLC, with the bug."""

from reassure.models.examples import raft_membership
from reassure.models.examples.raft_membership import Cluster, Server, stand


def is_a_candidate(s: Cluster, server: Server) -> bool:
    return server in frozenset({Server(0), Server(1)})


MODEL = raft_membership.MODEL.guarded(stand, is_a_candidate)
