------------------------------------- MODULE two_phase_commit -------------------------------------
\* Two-phase commit: a transaction manager and its resource managers agree to commit or to
\* abort.
\*
\* After "Consensus on Transaction Commit" (Gray and Lamport). Messages are never lost and stay
\* in the set once sent. A toy with known counts: 288 distinct states with 3 resource managers,
\* 8,832 with 5.
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    \* Resource managers.
    Managers

ASSUME Managers \in 1..8

VARIABLES
    \* @type: (Int -> Str);
    managers,
    \* @type: Str;
    \* The transaction manager's own state; its decision is also the message it broadcasts.
    outcome,
    \* @type: Set(Int);
    \* Managers whose Prepared message the transaction manager has received.
    heard,
    \* @type: Set(Int);
    \* Managers that have sent Prepared.
    prepared

vars == <<managers, outcome, heard, prepared>>

---------------------------------------------------------------------------------------------------

\* A resource manager.
Manager == 0..(Managers - 1)

Phase == {"WORKING", "PREPARED", "COMMITTED", "ABORTED"}

Outcome == {"OPEN", "COMMITTED", "ABORTED"}

all_working ==
    LET nobody == {}
    IN  /\ managers = [manager \in Manager |-> "WORKING"]
        /\ outcome = "OPEN"
        /\ heard = nobody
        /\ prepared = nobody

prepare(manager) ==
    /\ managers[manager] = "WORKING"
    /\ managers' = [managers EXCEPT ![manager] = "PREPARED"]
    /\ prepared' = prepared \cup {manager}
    /\ UNCHANGED <<outcome, heard>>

choose_to_abort(manager) ==
    /\ managers[manager] = "WORKING"
    /\ managers' = [managers EXCEPT ![manager] = "ABORTED"]
    /\ UNCHANGED <<outcome, heard, prepared>>

hear_prepared(manager) ==
    /\ outcome = "OPEN"
    /\ manager \in prepared
    /\ heard' = heard \cup {manager}
    /\ UNCHANGED <<managers, outcome, prepared>>

commit ==
    /\ outcome = "OPEN"
    /\ heard = Manager
    /\ outcome' = "COMMITTED"
    /\ UNCHANGED <<managers, heard, prepared>>

abort ==
    /\ outcome = "OPEN"
    /\ outcome' = "ABORTED"
    /\ UNCHANGED <<managers, heard, prepared>>

hear_commit(manager) ==
    /\ outcome = "COMMITTED"
    /\ managers' = [managers EXCEPT ![manager] = "COMMITTED"]
    /\ UNCHANGED <<outcome, heard, prepared>>

hear_abort(manager) ==
    /\ outcome = "ABORTED"
    /\ managers' = [managers EXCEPT ![manager] = "ABORTED"]
    /\ UNCHANGED <<outcome, heard, prepared>>

---------------------------------------------------------------------------------------------------

TypeOK ==
    /\ managers \in [Manager -> Phase]
    /\ outcome \in Outcome
    /\ heard \subseteq Manager
    /\ prepared \subseteq Manager

Init == all_working

Next ==
    \/ \E manager \in Manager : prepare(manager)
    \/ \E manager \in Manager : choose_to_abort(manager)
    \/ \E manager \in Manager : hear_prepared(manager)
    \/ commit
    \/ abort
    \/ \E manager \in Manager : hear_commit(manager)
    \/ \E manager \in Manager : hear_abort(manager)

Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------------------------------

\* No manager has committed what another has aborted.
consistent ==
    LET some_aborted == \E m \in Manager : managers[m] = "ABORTED"
        some_committed == \E m \in Manager : managers[m] = "COMMITTED"
    IN  ~(some_aborted /\ some_committed)

everybody_commits == \A m \in Manager : managers[m] = "COMMITTED"

never_everybody_commits == ~everybody_commits

everybody_aborts == \A m \in Manager : managers[m] = "ABORTED"

never_everybody_aborts == ~everybody_aborts

\* No run ends.
NoDeadlock == ENABLED Next

===================================================================================================
