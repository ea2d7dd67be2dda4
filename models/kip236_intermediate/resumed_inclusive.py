"""Dropping intermediate replicas also on the resume call, `existing[0:top-1]` with its end: see `drop_on_resume`."""

from reassure import action
from reassure.models.kip236_intermediate.drop_on_resume import completed_if_spared, dropped_on_resume
from reassure.models.kip236_intermediate.drop_set import Cluster, Config
from reassure.models.kip236_intermediate.intermediate_inclusive import MODEL as WITHOUT_RESUME
from reassure.spec.kafka.partition import Broker, Brokers


@action(who="controller", fair="weak", tags=["complete"])
def complete(s: Cluster, kept: Brokers, successor: Broker) -> Cluster:
    """Every wanted replica is in sync, and the drop spares them: the reassignment ends."""
    return completed_if_spared(s, kept, successor, s.top)


@action(who="controller", fair="weak", tags=["drop"])
def resume(s: Cluster, c: Config, kept: Brokers) -> Cluster:
    """Every wanted replica is in sync, and the drop takes some of them away."""
    return dropped_on_resume(s, c, kept, s.top)


MODEL = WITHOUT_RESUME.replacing(complete).adding(resume)
