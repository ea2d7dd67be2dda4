"""Raft's change of members with the remedy of 2015: a leader commits an entry of its own term before it changes them.

It appends such an entry, with the members as they are, when its term begins.
"""

from reassure import action, replace, require
from reassure.models.examples import raft_membership
from reassure.models.examples.raft_membership import Cluster, Config, Entry, Server, change, members, position


@action(who="leader")
def begin(s: Cluster, c: Config, leader: Server) -> Cluster:
    n = s.nodes[leader]
    require(n.leads and position(n)[0] < n.term)
    return replace(s, nodes=s.nodes.put(leader, replace(n, log=n.log + (Entry(n.term, members(n, c)),))))


def has_committed_in_its_term(s: Cluster, leader: Server) -> bool:
    n = s.nodes[leader]
    return n.commit > 0 and n.log[n.commit - 1].term == n.term


MODEL = raft_membership.MODEL.adding(begin).guarded(change, has_committed_in_its_term)
