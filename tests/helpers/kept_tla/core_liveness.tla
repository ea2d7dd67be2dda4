-------------------------------------- MODULE core_liveness ---------------------------------------
\* Core with two properties of whole runs: an offline partition gets a leader again, and a
\* reassignment ends.
\*
\* Fencing has no limit here. `a_leader_comes_back` needs weak fairness of `unfence` for each
\* broker: with fairness for some broker, another one may be fenced and unfenced for ever.
\* `a_pending_reassignment_ends` is violated.
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    \* @type: Int;
    \* Brokers in the cluster; the first three hold the partition at the start.
    Brokers,
    \* @type: Int;
    \* Fewest in-sync replicas a reassignment may leave.
    MinIsr,
    \* @type: Int;
    \* Where an optional value is not there; a model value.
    None,
    \* @type: Set(Int);
    \* Where an optional set is not there; a model value.
    NoSet

ASSUME Brokers \in 3..12 /\ MinIsr \in 1..12

VARIABLES
    \* @type: Set(Int);
    replicas,
    \* @type: Set(Int);
    isr,
    \* @type: Set(Int);
    adding,
    \* @type: Set(Int);
    removing,
    \* @type: Set(Int);
    unfenced,
    \* @type: Int;
    leader,
    \* @type: Set(Int);
    \* The ISR in the leader's AlterPartition request, if one is in flight.
    proposed

vars == <<replicas, isr, adding, removing, unfenced, leader, proposed>>

\* p, evaluated once: TLC takes a disjunction in an action for several ways and counts a step
\* for each.
Holds(p) == p = TRUE

Min(S) == CHOOSE x \in S : \A y \in S : x <= y

---------------------------------------------------------------------------------------------------

\* A broker, numbered from 0.
Broker == 0..(Brokers - 1)

NOBODY == {}

three_in_sync ==
    LET first_three == {b \in Broker : b <= 2}
    IN  /\ replicas = first_three
        /\ isr = first_three
        /\ adding = NOBODY
        /\ removing = NOBODY
        /\ unfenced = Broker
        /\ leader = 0
        /\ proposed = NoSet

lowest(brokers) == IF brokers = {} THEN None ELSE Min(brokers)

\* A broker's heartbeat is missed: it leaves the ISR unless it is the last, and leadership
\* moves.
fence(broker) ==
    /\ broker \in unfenced
    /\ LET leader_ == IF leader = broker
                      THEN lowest((isr \cap unfenced) \ {broker})
                      ELSE leader
           unfenced_ == unfenced \ {broker}
       IN  IF broker \in isr /\ Cardinality(isr) > 1
           THEN /\ isr' = isr \ {broker}
                /\ unfenced' = unfenced_
                /\ leader' = leader_
                /\ proposed' = NoSet
           ELSE /\ unfenced' = unfenced_
                /\ leader' = leader_
                /\ UNCHANGED <<isr, proposed>>
    /\ UNCHANGED <<replicas, adding, removing>>

\* A broker is back; every fenced broker is unfenced eventually.
unfence(broker) ==
    /\ broker \notin unfenced
    /\ LET leader_ == IF leader = None /\ broker \in isr THEN broker ELSE leader
       IN  unfenced' = unfenced \cup {broker} /\ leader' = leader_
    /\ UNCHANGED <<replicas, isr, adding, removing, proposed>>

\* The leader asks for another ISR.
propose(isr_) ==
    /\ leader # None
    /\ proposed = NoSet
    /\ isr_ \subseteq replicas \cap unfenced
    /\ leader \in isr_
    /\ isr_ # isr
    /\ proposed' = isr_
    /\ UNCHANGED <<replicas, isr, adding, removing, unfenced, leader>>

reassigning == adding # NOBODY \/ removing # NOBODY

\* The controller answers the request, and completes the reassignment if it can.
alter ==
    /\ proposed # NoSet
    /\ LET isr_ == proposed
           final == isr_ \ removing
       IN  IF ~(isr_ \subseteq unfenced)
           THEN /\ proposed' = NoSet
                /\ UNCHANGED <<replicas, isr, adding, removing, leader>>
           ELSE IF reassigning /\ adding \subseteq final /\ Cardinality(final) >= MinIsr
                THEN /\ replicas' = replicas \ removing
                     /\ isr' = final
                     /\ adding' = NOBODY
                     /\ removing' = NOBODY
                     /\ leader' = (IF leader \in final THEN leader ELSE lowest(final))
                     /\ proposed' = NoSet
                ELSE /\ isr' = isr_
                     /\ proposed' = NoSet
                     /\ UNCHANGED <<replicas, adding, removing, leader>>
    /\ UNCHANGED unfenced

\* The leader after the ISR became `isr`: unchanged if it can be, else the lowest that is
\* alive.
keep_or_elect(isr_) ==
    IF leader = None \/ leader \in isr_
    THEN leader
    ELSE lowest(isr_ \cap unfenced)

\* A new replica set is asked for; a pure removal that keeps MinISR is done at once.
reassign(target) ==
    /\ ~reassigning
    /\ target # replicas
    /\ Cardinality(target) >= MinIsr
    /\ LET adding_ == target \ replicas
           removing_ == replicas \ target
           final == isr \ removing_
       IN  IF adding_ = NOBODY /\ Cardinality(final) >= MinIsr
           THEN /\ replicas' = target
                /\ isr' = final
                /\ leader' = keep_or_elect(final)
                /\ proposed' = NoSet
                /\ UNCHANGED <<adding, removing>>
           ELSE /\ replicas' = replicas \cup adding_
                /\ adding' = adding_
                /\ removing' = removing_
                /\ proposed' = NoSet
                /\ UNCHANGED <<isr, leader>>
    /\ UNCHANGED unfenced

\* The reassignment is given up, if what was there before is enough in sync.
cancel ==
    /\ Holds(reassigning)
    /\ LET isr_ == isr \ adding
       IN  /\ Cardinality(isr_) >= MinIsr
           /\ replicas' = replicas \ adding
           /\ isr' = isr_
           /\ adding' = NOBODY
           /\ removing' = NOBODY
           /\ leader' = keep_or_elect(isr_)
           /\ proposed' = NoSet
    /\ UNCHANGED unfenced

---------------------------------------------------------------------------------------------------

TypeOK ==
    /\ replicas \subseteq Broker
    /\ isr \subseteq Broker
    /\ adding \subseteq Broker
    /\ removing \subseteq Broker
    /\ unfenced \subseteq Broker
    /\ leader \in Broker \cup {None}
    /\ proposed \in (SUBSET Broker) \cup {NoSet}

Init == three_in_sync

Next ==
    \/ \E broker \in Broker : fence(broker)
    \/ \E broker \in Broker : unfence(broker)
    \/ \E isr_ \in SUBSET Broker : propose(isr_)
    \/ alter
    \/ \E target \in SUBSET Broker : reassign(target)
    \/ cancel

Fairness == \A broker \in Broker : WF_vars(unfence(broker))

Spec == Init /\ [][Next]_vars /\ Fairness

---------------------------------------------------------------------------------------------------

\* An in-sync copy is always one of the replicas.
isr_within_replicas == isr \subseteq replicas

\* Some broker always holds every committed record.
isr_never_empty == isr # NOBODY

\* The leader is in sync.
leader_in_isr == leader = None \/ leader \in isr

led == leader # None

\* Otherwise a partition stays offline although every broker recovers.
a_leader_comes_back == (leader = None) ~> led

settled == ~reassigning

\* Otherwise an administrator waits for ever: no leader has to propose, and fencing has no
\* limit.
a_pending_reassignment_ends == reassigning ~> settled

reassignment_pending == adding # NOBODY /\ removing # NOBODY

never_reassignment_pending == ~reassignment_pending

reassignment_completed == alter /\ reassigning /\ ~reassigning'

never_reassignment_completed == [][~reassignment_completed]_vars

===================================================================================================
