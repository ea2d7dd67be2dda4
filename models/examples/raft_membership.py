"""Raft's change of members, one server at a time, as first published: two majorities may have no server in common.

A leader appends the new set of members to its log. Every server goes by the last set in its own log, committed or not
(D. Ongaro, Consensus, 2014, chapter 4). A vote and a copy of a leader's log are one step here, without messages.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Map, MaxLen, Model, Range, action, cover, every, fill, initial, invariant, replace, require


class Server(Id, size="servers"): ...


@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(2, 5)] = 4
    terms: Annotated[int, Range(1, 4)] = 3
    entries: Annotated[int, Range(1, 5)] = 2
    changes: Annotated[int, Range(0, 3)] = 2


@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, "terms")]
    members: frozenset[Server]


@dataclass(frozen=True)
class Node:
    term: Annotated[int, Range(0, "terms", declared=True)] = 0
    voted: Server | None = None
    votes: frozenset[Server] = frozenset()  # of a candidate
    leads: bool = False
    log: Annotated[tuple[Entry, ...], MaxLen("entries", declared=True)] = ()
    commit: Annotated[int, Range(0, "entries")] = 0


@dataclass(frozen=True)
class Cluster:
    nodes: Map[Server, Node]
    changes: Annotated[int, Range(0, "changes", declared=True)] = 0


def members(n: Node, c: Config) -> frozenset[Server]:
    return n.log[-1].members if n.log != () else every(Server, c)


def position(n: Node) -> tuple[int, int]:
    """By which two logs are compared: the term of the last entry, and the length."""
    return (n.log[-1].term if n.log != () else 0, len(n.log))


def is_majority(some: frozenset[Server], n: Node, c: Config) -> bool:
    return 2 * len(some & members(n, c)) > len(members(n, c))


def agree(a: Node, b: Node) -> bool:
    both = min(a.commit, b.commit)
    return a.log[:both] == b.log[:both]


@initial
def start(c: Config) -> Cluster:
    return Cluster(fill(Server, c, Node()))


@action(who="server")
def stand(s: Cluster, c: Config, server: Server) -> Cluster:
    n = s.nodes[server]
    require(server in members(n, c))
    n = replace(n, term=n.term + 1, voted=server, votes=frozenset({server}), leads=False)
    return replace(s, nodes=s.nodes.put(server, n))


@action(who="server")
def vote(s: Cluster, server: Server, candidate: Server) -> Cluster:
    n, x = s.nodes[server], s.nodes[candidate]
    require(server != candidate and candidate in x.votes and position(x) >= position(n))
    require(n.term < x.term or (n.term == x.term and n.voted is None))
    n = replace(n, term=x.term, voted=candidate, votes=frozenset(), leads=False)
    return replace(s, nodes=s.nodes.put(server, n).put(candidate, replace(x, votes=x.votes | {server})))


@action(who="candidate")
def win(s: Cluster, c: Config, candidate: Server) -> Cluster:
    n = s.nodes[candidate]
    require(n.votes != frozenset() and is_majority(n.votes, n, c))
    return replace(s, nodes=s.nodes.put(candidate, replace(n, leads=True, votes=frozenset())))


@action(who="leader")
def change(s: Cluster, c: Config, leader: Server, server: Server) -> Cluster:
    n = s.nodes[leader]
    require(n.leads and n.commit == len(n.log) and members(n, c) != {server})
    n = replace(n, log=n.log + (Entry(n.term, members(n, c) ^ {server}),))
    return replace(s, nodes=s.nodes.put(leader, n), changes=s.changes + 1)


@action(who="leader")
def send(s: Cluster, leader: Server, server: Server) -> Cluster:
    a, b = s.nodes[leader], s.nodes[server]
    require(a.leads and leader != server and b.term <= a.term)
    log = b.log if b.log[: len(a.log)] == a.log else a.log
    voted = b.voted if b.term == a.term else None
    b = Node(a.term, voted, frozenset(), False, log, max(b.commit, min(a.commit, len(log))))
    return replace(s, nodes=s.nodes.put(server, b))


@action(who="leader")
def commit(s: Cluster, c: Config, leader: Server) -> Cluster:
    n = s.nodes[leader]
    have = frozenset(x for x in every(Server, c) if s.nodes[x].log[: len(n.log)] == n.log)
    require(n.leads and n.commit < len(n.log) and position(n)[0] == n.term and is_majority(have, n, c))
    return replace(s, nodes=s.nodes.put(leader, replace(n, commit=len(n.log))))


@invariant
def committed_entries_agree(s: Cluster, c: Config) -> bool:
    """Two servers never have different entries at a place that both hold to be committed."""
    return all(agree(s.nodes[x], s.nodes[y]) for x in every(Server, c) for y in every(Server, c))


@invariant
def one_leader_a_term(s: Cluster, c: Config) -> bool:
    """Election safety."""
    leaders = frozenset(x for x in every(Server, c) if s.nodes[x].leads)
    return all(x == y or s.nodes[x].term != s.nodes[y].term for x in leaders for y in leaders)


@cover
def a_change_is_committed(s: Cluster, c: Config) -> bool:
    return any(s.nodes[x].commit > 0 and members(s.nodes[x], c) != every(Server, c) for x in every(Server, c))


MODEL = Model.of(__name__, state=Cluster, config=Config)
