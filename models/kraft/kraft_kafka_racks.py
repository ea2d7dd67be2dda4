"""`kraft_racks` by the rules of Kafka's controller: plans over racks, carried out by `kraft_kafka` (X1)."""

from dataclasses import dataclass

from reassure import action, require
from reassure.models.kraft import kraft_kafka, kraft_racks
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kraft_kafka import Kafka
from reassure.models.kraft.kraft_racks import a_plan
from reassure.spec.kafka.partition import Brokers


@dataclass(frozen=True)
class Config(kraft_racks.Config, kraft_kafka.Config):
    """Racks and a release of Kafka."""


@action(who="admin", tags=["start"])
def start(s: Kafka, c: Config, target: Brokers) -> Kafka:
    """As the original, for plans that the placement makes."""
    require(a_plan(target, c))
    return kraft_kafka.start(s, c, target)  # type: ignore[no-any-return]


@action(who="admin", tags=["retarget"])
def retarget(s: Kafka, c: Config, target: Brokers) -> Kafka:
    """As the original, for plans that the placement makes."""
    require(a_plan(target, c))
    return kraft_kafka.retarget(s, c, target)  # type: ignore[no-any-return]


MODEL = kraft_kafka.MODEL.replacing(start, retarget, config=Config)
MODEL = MODEL.without("pure_removal_done_at_once", "target_below_min_isr_completes")
MODEL = MODEL.adding(*kraft_racks.CLAIMS)
