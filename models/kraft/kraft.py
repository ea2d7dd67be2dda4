"""KRaft partition reassignment by the rules of the document: grow, catch up, complete, cancel.

Rules of "KRaft replication, chapter 4: Reassignment"; fencing and eligible leader
replicas (ELR) as in KIP-966, on which that chapter builds. One partition. What Kafka's code does differently is in
`kraft_kafka`.

The story: an administrator starts a reassignment and the controller grows the replica set. Followers catch up, the
leader proposes an ISR with them in an AlterPartition request, and the controller applies it. Once the ISR without what
is to be removed reaches MinISR and has everything added, the reassignment completes in that same change. Meanwhile
brokers are fenced and return, one may lose its log, followers lag, and the administrator cancels or changes the target.

The configuration limits requests and failures (`admin_requests`, `disturbances`); recovery has no limit. A proposal
made with outdated metadata is the same as one made earlier and delivered late, so leaders propose with current metadata
and their requests stay in flight.

Left out: a deposed leader that still answers clients; targets in another order than the current list followed by what
is new; logs beyond "holds everything committed"; answers lost on the way; preferred leader election.

The state is in `state`, the document's rules in `rules`, the steps in `protocol`, and what is checked in `properties`
and `covers`. `kraft_removed_logs` tells removed logs, what the leader knows of them and the truth apart;
`kraft_reconfigured` has changes of MinISR and of unclean election; `kraft_ordered` has targets in any order.
"""

from reassure import Model
from reassure.models.kraft import covers, properties, protocol, state
from reassure.models.kraft.state import Cluster, Config, duties, watched
from reassure.spec.kafka.partition_properties import SHARED
from reassure.spec.kafka.shared_properties import PROMISES

MODEL = Model.of(
    __name__,
    parts=(state.__name__, protocol.__name__, properties.__name__, covers.__name__),
    state=Cluster,
    config=Config,
    views=(watched, duties),
    shared=SHARED + PROMISES,
)
