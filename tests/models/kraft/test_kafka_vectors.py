"""Kafka's own answers: the vectors of `kafka_vectors.json` against `models.kraft.kafka_controller`."""

from __future__ import annotations

from typing import Any

import pytest

from reassure import replace
from reassure.models.kraft import kafka_controller as rules
from reassure.models.kraft.kafka_controller import Election, Error, Switches
from reassure.spec.kafka.partition import Broker, Brokers, Partition, reassigning
from tests.helpers.kafka_vectors import GROUPS, NOT_APPLICABLE, Vector, vectors

OCTOBER_2024 = Switches(elr=True, recovery=True, bump_on_shrink=False, last_known=True)
"""The rules of the commit that the vectors are of, between 3.9 and 4.0."""


def test_what_does_not_apply_is_there() -> None:
    if not GROUPS:
        pytest.skip("kafka_vectors.json is not beside the checkout")
    known = {v["id"]: v for group in GROUPS.values() for v in group}
    assert set(NOT_APPLICABLE) <= set(known)
    for name in NOT_APPLICABLE:
        assert known[name]["expect"]["error"] not in Error.__members__


def brokers(ids: list[int]) -> Brokers:
    return frozenset(Broker(i) for i in ids)


def replicas(ids: list[int]) -> tuple[Broker, ...]:
    return tuple(Broker(i) for i in ids)


def partition(d: Vector) -> Partition:
    known = d.get("lastKnownElr", [])
    leader = d.get("leader", -1)
    return Partition(
        replicas=replicas(d["replicas"]),
        isr=brokers(d.get("isr", [])),
        elr=brokers(d.get("elr", [])),
        adding=brokers(d.get("adding", [])),
        removing=brokers(d.get("removing", [])),
        leader=None if leader == -1 else Broker(leader),
        leader_epoch=d.get("leaderEpoch", 0),
        partition_epoch=d.get("partitionEpoch", 0),
        recovering=d.get("leaderRecoveryState") == "RECOVERING",
        last_known_leader=Broker(known[0]) if known else None,
    )


def switches(version: str, elr: bool) -> Switches:
    number, _, iv = version.partition("-IV")
    major, minor = (int(x) for x in number.split("."))
    at = (major, minor, int(iv))
    return Switches(elr, at >= (3, 2, 0), at < (3, 6, 0), True)


def alive(acceptable: Any) -> Brokers:
    everybody = range(20)
    if acceptable == "all":
        return brokers(list(everybody))
    if isinstance(acceptable, dict):
        return brokers([b for b in everybody if b not in acceptable["all_except"]])
    return brokers(acceptable)


def change(p: Partition, wanted: Vector) -> rules.Change:
    made = rules.unchanged(p, Election[wanted.get("election", "ONLINE")])
    fields: dict[str, Any] = {k: brokers(wanted[k]) for k in ("isr", "adding", "removing") if k in wanted}
    if "replicas" in wanted:
        fields["replicas"] = replicas(wanted["replicas"])
    return replace(made, **fields)


@vectors("reassignment_replicas")
def test_reassignment_replicas(v: Vector) -> None:
    plan = rules.planned(replicas(v["current"]), replicas(v["target"]))
    e = v["expect"]
    assert plan.replicas == replicas(e["merged"])
    assert (plan.adding, plan.removing) == (brokers(e["adding"]), brokers(e["removing"]))
    assert (plan.adding | plan.removing != frozenset()) == e["in_progress"]
    left = tuple(b for b in plan.replicas if b not in plan.adding)
    assert left == replicas(e["original_replicas_after_cancel"])


@vectors("maybe_complete")
def test_maybe_complete(v: Vector) -> None:
    s = v["state"]
    got = rules.completion(
        replicas(s["replicas"]), brokers(s["adding"]), brokers(s["removing"]), brokers(v["targetIsr"]), OCTOBER_2024
    )
    assert got.done == v["expect"]["completed"]
    if got.done:
        assert (got.replicas, got.isr) == (replicas(v["expect"]["replicas"]), brokers(v["expect"]["isr"]))


@vectors("is_reassigning")
def test_is_reassigning(v: Vector) -> None:
    assert reassigning(partition(v["state"])) == v["expect"]


@vectors("revert")
def test_revert(v: Vector) -> None:
    got, e = rules.reverted(partition(v["state"])), v["expect"]
    assert (got.replicas, got.isr, got.unclean) == (replicas(e["replicas"]), brokers(e["isr"]), e["needs_unclean"])


@vectors("leader_election")
def test_leader_election(v: Vector) -> None:
    p = partition(v["before"])
    for variant in v["variants"]:
        w = switches(variant["metadata_version"], variant["elr_enabled"])
        c = change(p, v["set"])
        elr = (p.elr | p.isr) - c.isr if w.elr and len(c.isr) < v["min_isr"] else frozenset()
        got = rules.elected(p, c.replicas, c.isr, elr, alive(v["acceptable_leaders"]), c.election, w)
        leader = v["expect"]["leader"]
        assert (got.leader, got.unclean) == (None if leader == -1 else Broker(leader), v["expect"]["unclean"])


@vectors("leader_epoch_bump")
def test_leader_epoch_bump(v: Vector) -> None:
    p = partition(v["before"])
    for version in v["metadata_versions"]:
        after = rules.built(p, change(p, v["set"]), alive("all"), frozenset(), 2, switches(version, False)).partition
        assert (after.leader_epoch > p.leader_epoch) == v["expect"]["leader_epoch_bumped"], version


@vectors("change_builder")
def test_change_builder(v: Vector) -> None:
    p = partition(v["before"])
    for variant in v["variants"]:
        w = switches(variant["metadata_version"], variant["elr_enabled"])
        lost = brokers(v["set"].get("unclean_shutdown", []))
        after = rules.built(p, change(p, v["set"]), alive(v["acceptable_leaders"]), lost, v["min_isr"], w).partition
        assert (after != p) == v["expect"]["changed"]
        if v["expect"]["changed"]:
            assert after == partition(v["expect"]["after"]), variant


@vectors("alter_partition_validation")
def test_alter_partition_validation(v: Vector) -> None:
    r, known = v["request"], v["brokers"]
    sender = known.get(str(r["broker"]))
    given = r.get("new_isr_with_epochs") or [{"id": b, "epoch": -1} for b in r.get("new_isr", [])]
    ids = [m.get("id", m.get("broker", m.get("brokerId"))) for m in given]
    eligible = []
    for m, b in zip(given, ids, strict=True):
        at = known.get(str(b))
        epoch = m.get("epoch", m.get("broker_epoch", m.get("brokerEpoch", -1)))
        if at and not at.get("fenced") and not at.get("in_controlled_shutdown") and not at.get("controlled_shutdown"):
            if epoch in (-1, at["epoch"]) or r["version"] < 3:
                eligible.append(b)
    p = partition(v["partition"])
    if len(set(ids)) < len(ids):
        pytest.skip("a list with duplicates is not a set: refused before these rules")
    got = rules.validated(
        p,
        Broker(r["broker"]),
        sender is not None and sender["epoch"] == r["broker_epoch"],
        r["leader_epoch"],
        r["partition_epoch"],
        brokers(ids),
        r.get("leader_recovery_state") == "RECOVERING",
        brokers(eligible),
        r["version"] >= 2,
    )
    assert got == Error[v["expect"]["error"]]


@vectors("effective_min_isr")
def test_effective_min_isr(v: Vector) -> None:
    got = rules.effective_min_isr(v["config_min_insync_replicas"], len(v["partition0_replicas"]))
    assert got == v["expect"]


@vectors("manual_assignment_validation")
def test_manual_assignment_validation(v: Vector) -> None:
    good = rules.valid_assignment(replicas(v["assignment"]), brokers(v["registered_brokers"]))
    required = v["required_replication_factor"]
    good = good and (required is None or len(v["assignment"]) == required)
    assert ("NONE" if good else "INVALID_REPLICA_ASSIGNMENT") == v["expect"]["error"]


class Controller:
    """Several partitions, brokers and topic configurations: what a scenario's steps are sent to."""

    def __init__(self, v: Vector) -> None:
        config = v["config"]
        self.switches = switches(config["metadata_version"], config["elr_enabled"])
        self.partitions = {name: partition(d) for name, d in v["initial"].items()}
        self.registered = brokers(v["brokers"])
        self.active = brokers(v.get("initially_unfenced", v["brokers"]))
        self.unclean = dict(config["unclean_leader_election"])
        self.min_isr = dict(config["min_insync_replicas"])

    def mode(self, name: str) -> Election:
        topic = name.rsplit("-", 1)[0]
        return Election.UNCLEAN if self.unclean.get(topic, self.unclean.get("*", False)) else Election.ONLINE

    def build(self, name: str, change: rules.Change, lost: Brokers = frozenset()) -> Partition:
        topic = name.rsplit("-", 1)[0]
        first = self.partitions[f"{topic}-0"]
        least = rules.effective_min_isr(int(self.min_isr.get(topic, self.min_isr.get("*", 1))), len(first.replicas))
        return rules.built(self.partitions[name], change, self.active, lost, least, self.switches).partition

    def removal(self, broker: Broker, lost: bool) -> None:
        for name, p in self.partitions.items():
            if broker in p.isr or (lost and broker in p.elr):
                wanted = replace(rules.unchanged(p, self.mode(name)), isr=p.isr - {broker})
                self.partitions[name] = self.build(name, wanted, frozenset({broker}) if lost else frozenset())

    def leaderless(self) -> None:
        for name, p in self.partitions.items():
            if p.leader is None:
                self.partitions[name] = self.build(name, rules.unchanged(p, self.mode(name)))

    def reassign(self, name: str, target: list[int] | None) -> tuple[str, Partition | None]:
        if name not in self.partitions:
            return "UNKNOWN_TOPIC_OR_PARTITION", None
        p = self.partitions[name]
        if target is not None:
            if not rules.valid_assignment(replicas(target), self.registered):
                return "INVALID_REPLICA_ASSIGNMENT", None
            return "NONE", self.build(name, rules.asked(p, replicas(target), self.switches))
        if not reassigning(p):
            return "NO_REASSIGNMENT_IN_PROGRESS", None
        back = rules.reverted(p)
        if back.unclean and self.mode(name) != Election.UNCLEAN:
            return "INVALID_REPLICA_ASSIGNMENT", None
        wanted = rules.cancelled(p, self.mode(name))
        return "NONE", self.build(name, wanted)

    def alter(self, step: Vector) -> str:
        name = step["partition"]
        p, source, new = self.partitions[name], Broker(step["broker"]), step["version"] >= 2
        recovering = step["leader_recovery_state"] == "RECOVERING"
        error = rules.validated(
            p, source, True, step["leader_epoch"], step["partition_epoch"], brokers(step["new_isr"]), recovering,
            self.active, new,
        )  # fmt: skip
        if error != Error.NONE:
            return error.value
        wanted = replace(rules.unchanged(p, self.mode(name)), isr=brokers(step["new_isr"]), recovering=recovering)
        self.partitions[name] = self.build(name, wanted)
        return rules.answer(source, self.partitions[name], new).value

    def elect(self, name: str, election: Election) -> str:
        if name not in self.partitions:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        p = self.partitions[name]
        if p.leader is not None and (election == Election.UNCLEAN or p.leader == p.replicas[0]):
            return "ELECTION_NOT_NEEDED"
        after = self.build(name, rules.unchanged(p, election))
        if after.leader is None:
            return (
                "ELIGIBLE_LEADERS_NOT_AVAILABLE" if election == Election.UNCLEAN else "PREFERRED_LEADER_NOT_AVAILABLE"
            )
        if election == Election.PREFERRED and after.leader != p.replicas[0]:
            return "PREFERRED_LEADER_NOT_AVAILABLE"
        self.partitions[name] = after
        return "NONE"

    def balance(self) -> None:
        for name, p in self.partitions.items():
            if p.leader is not None and p.leader != p.replicas[0]:
                self.partitions[name] = self.build(name, rules.unchanged(p, Election.PREFERRED))


@vectors("scenarios")
def test_scenario(v: Vector) -> None:
    c = Controller(v)
    for step in v["steps"]:
        kept, op, expect = dict(c.partitions), step["op"], step["expect"]
        who = Broker(step["broker"]) if "broker" in step else Broker(0)
        if op == "alter_partition_reassignments":
            made = {name: c.reassign(name, target) for name, target in step["request"].items()}
            assert {n: e for n, (e, _) in made.items()} == expect["errors"]
            c.partitions.update({n: p for n, (_, p) in made.items() if p is not None})
        elif op == "alter_partition":
            assert c.alter(step) == expect["error"]
        elif op in ("fence", "controlled_shutdown"):
            c.active -= {who}
            c.removal(who, lost=False)
        elif op == "controlled_shutdown_flag_only":
            c.active -= {who}
        elif op == "unclean_shutdown":
            c.active -= {who}
            c.removal(who, lost=True)
        elif op == "unregister":
            c.active, c.registered = c.active - {who}, c.registered - {who}
            c.removal(who, lost=False)
        elif op == "unfence":
            c.active |= {who}
            c.leaderless()
        elif op == "set_topic_config":
            for key, value in step["config"].items():
                table = c.min_isr if key == "min.insync.replicas" else c.unclean
                table[step["topic"]] = value
        elif op == "elect_leaders":
            assert {n: c.elect(n, Election[step["type"]]) for n in step["partitions"]} == expect["errors"]
        elif op == "maybe_elect_unclean_leaders":
            for name, p in list(c.partitions.items()):
                if p.leader is None and c.mode(name) == Election.UNCLEAN:
                    c.partitions[name] = c.build(name, rules.unchanged(p, Election.UNCLEAN))
        elif op == "balance_leaders":
            c.balance()
        else:
            raise AssertionError(f"no step {op}")
        if step.get("apply", True) is False:
            c.partitions = kept
        assert c.partitions == {name: partition(d) for name, d in expect["partitions"].items()}, op
