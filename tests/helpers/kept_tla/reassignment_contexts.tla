---------------------------------- MODULE reassignment_contexts -----------------------------------
\* Loading reassignments after fail-over from three places, told apart by a legacy flag
\* (KIP-236).
\*
\* Rules of the list that KIP-236 prints before its algorithm. For one partition, since
\* partitions are independent: a new controller loads contexts from /admin/reassignments, then
\* from the children of /admin/reassignment_requests, then from /admin/reassign_partitions;
\* what the last two hold only where its legacy flag equals that of "any current context".
\*
\* The document does not say what "any" means where there is no context yet, whether contexts
\* added in the same step are current already, nor which place may hold which flag:
\* `any_is_some`, `one_by_one`, `tied`. ZooKeeper lists children in no order, so neither do we.
\*
\* Left out: targets (a second context with the same flag is the first one, changed); an old
\* controller that still writes.
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    \* @type: Int;
    \* Reassignments that are asked for.
    Submissions,
    \* @type: Int;
    \* Times that everything is loaded again, by a new controller or by the same.
    Loads,
    \* @type: Bool;
    \* Whether /admin/reassign_partitions holds only legacy contexts, and
    \* /admin/reassignment_requests only others.
    Tied,
    \* @type: Bool;
    \* Whether "the same legacy flag as any current context" requires that there is one.
    AnyIsSome,
    \* @type: Bool;
    \* Whether a context is current as soon as it is added, or only when its place has been read.
    OneByOne,
    \* @type: Str;
    \* Where an optional value is not there; a model value.
    None,
    \* @type: Set(Str);
    \* Where an optional set is not there; a model value.
    NoSet

ASSUME Submissions \in 0..4 /\ Loads \in 0..4

VARIABLES
    \* @type: Str;
    \* What /admin/reassignments has for the partition.
    stored,
    \* @type: Set(Str);
    \* The children of /admin/reassignment_requests with the partition, by their flags.
    requests,
    \* @type: Str;
    \* What /admin/reassign_partitions has for the partition.
    file,
    \* @type: Set(Str);
    \* The controller's ReassignedPartitionsContexts, by their flags.
    contexts,
    \* @type: Set(Str);
    \* What the flags are compared with.
    current,
    \* @type: Str;
    phase,
    \* @type: Set(Str);
    \* Children that the step going on has not come to.
    unread,
    \* @type: Set(Str);
    \* Ghost: what the last load came to, if nothing has changed since it began.
    result,
    \* @type: Bool;
    \* Ghost: nothing has been asked for since the load began.
    quiet,
    \* @type: Bool;
    \* Ghost: the load that goes on began with the contexts of an earlier one.
    again,
    \* @type: Int;
    submitted,
    \* @type: Int;
    loaded

vars == <<stored, requests, file, contexts, current, phase, unread, result, quiet, again,
          submitted, loaded>>

\* p, evaluated once: TLC takes a disjunction in an action for several ways and counts a step
\* for each.
Holds(p) == p = TRUE

---------------------------------------------------------------------------------------------------

\* The variables as one record.
state ==
    [stored    |-> stored,
     requests  |-> requests,
     file      |-> file,
     contexts  |-> contexts,
     current   |-> current,
     phase     |-> phase,
     unread    |-> unread,
     result    |-> result,
     quiet     |-> quiet,
     again     |-> again,
     submitted |-> submitted,
     loaded    |-> loaded]

\* The state after the step.
Becomes(s) ==
    /\ stored' = s.stored
    /\ requests' = s.requests
    /\ file' = s.file
    /\ contexts' = s.contexts
    /\ current' = s.current
    /\ phase' = s.phase
    /\ unread' = s.unread
    /\ result' = s.result
    /\ quiet' = s.quiet
    /\ again' = s.again
    /\ submitted' = s.submitted
    /\ loaded' = s.loaded

Flag == {"LEGACY", "NEW"}

\* Which place is loaded next.
Phase == {"REASSIGNMENTS", "REQUESTS", "PARTITIONS", "LOADED"}

NONE == {}

\* No reassignment was ever requested.
nothing ==
    /\ stored = None
    /\ requests = NONE
    /\ file = None
    /\ contexts = NONE
    /\ current = NONE
    /\ phase = "LOADED"
    /\ unread = NONE
    /\ result = NONE
    /\ quiet = TRUE
    /\ again = FALSE
    /\ submitted = 0
    /\ loaded = 0

\* A child of /admin/reassignment_requests is written.
submit_request(flag) ==
    /\ submitted < Submissions
    /\ flag \notin requests
    /\ Holds(flag = "NEW" \/ ~Tied)
    /\ requests' = requests \cup {flag}
    /\ submitted' = submitted + 1
    /\ result' = NoSet
    /\ quiet' = FALSE
    /\ UNCHANGED <<stored, file, contexts, current, phase, unread, again, loaded>>

\* /admin/reassign_partitions is written, which must not be there.
submit_file(flag) ==
    /\ submitted < Submissions
    /\ file = None
    /\ Holds(flag = "LEGACY" \/ ~Tied)
    /\ file' = flag
    /\ submitted' = submitted + 1
    /\ result' = NoSet
    /\ quiet' = FALSE
    /\ UNCHANGED <<stored, requests, contexts, current, phase, unread, again, loaded>>

\* A new controller begins to load, also in the middle of another's loading.
fail_over ==
    /\ loaded < Loads
    /\ contexts' = NONE
    /\ current' = NONE
    /\ unread' = NONE
    /\ phase' = "REASSIGNMENTS"
    /\ quiet' = TRUE
    /\ again' = FALSE
    /\ loaded' = loaded + 1
    /\ UNCHANGED <<stored, requests, file, result, submitted>>

\* The same controller loads once more, with the contexts that it has.
load_again ==
    /\ loaded < Loads
    /\ phase = "LOADED"
    /\ phase' = "REASSIGNMENTS"
    /\ quiet' = TRUE
    /\ again' = TRUE
    /\ loaded' = loaded + 1
    /\ UNCHANGED <<stored, requests, file, contexts, current, unread, result, submitted>>

\* What /admin/reassignments has is added, whatever its flag.
load_reassignments ==
    /\ phase = "REASSIGNMENTS"
    /\ LET contexts_ == IF stored = None THEN contexts ELSE contexts \cup {stored}
       IN  /\ contexts' = contexts_
           /\ current' = contexts_
           /\ phase' = "REQUESTS"
           /\ unread' = requests
    /\ UNCHANGED <<stored, requests, file, result, quiet, again, submitted, loaded>>

admitted(flag) ==
    IF AnyIsSome
    THEN flag \in current
    ELSE current \subseteq NONE \cup {flag}

\* The context is added if its flag allows it.
offered(flag) ==
    IF ~admitted(flag)
    THEN state
    ELSE LET contexts_ == contexts \cup {flag}
         IN  [state EXCEPT !.contexts = contexts_,
                           !.current = IF OneByOne THEN contexts_ ELSE current]

\* A child of /admin/reassignment_requests, added if its flag allows it.
load_request(flag) ==
    /\ phase = "REQUESTS"
    /\ Becomes([offered(flag) EXCEPT !.unread = unread \ {flag}])

\* All the children that were listed have been looked at.
end_requests ==
    /\ phase = "REQUESTS"
    /\ unread = NONE
    /\ current' = contexts
    /\ phase' = "PARTITIONS"
    /\ UNCHANGED <<stored, requests, file, contexts, unread, result, quiet, again, submitted,
                   loaded>>

\* What /admin/reassign_partitions has is added if its flag allows it, and loading ends.
load_partitions ==
    /\ phase = "PARTITIONS"
    /\ LET after == IF file = None THEN state ELSE offered(file)
       IN  Becomes([after EXCEPT !.current = after.contexts,
                                 !.phase = "LOADED",
                                 !.result = IF quiet THEN after.contexts ELSE NoSet])

\* A context is written to /admin/reassignments: what was asked for has become a reassignment.
store(flag) ==
    /\ phase = "LOADED"
    /\ flag \in contexts
    /\ stored = None
    /\ stored' = flag
    /\ result' = NoSet
    /\ UNCHANGED <<requests, file, contexts, current, phase, unread, quiet, again, submitted,
                   loaded>>

\* A request that is stored is removed from where it was made.
remove_request ==
    /\ stored # None
    /\ LET flag == stored
       IN  /\ phase = "LOADED"
           /\ flag \in requests
           /\ requests' = requests \ {flag}
           /\ result' = NoSet
    /\ UNCHANGED <<stored, file, contexts, current, phase, unread, quiet, again, submitted,
                   loaded>>

\* The reassignment ends, and every place removes it.
complete ==
    /\ stored # None
    /\ LET flag == stored
       IN  /\ phase = "LOADED"
           /\ flag \in contexts
           /\ flag \notin requests
           /\ LET contexts_ == contexts \ {flag}
                  file_ == IF file = flag THEN None ELSE file
              IN  /\ stored' = None
                  /\ contexts' = contexts_
                  /\ current' = contexts_
                  /\ file' = file_
                  /\ result' = NoSet
    /\ UNCHANGED <<requests, phase, unread, quiet, again, submitted, loaded>>

---------------------------------------------------------------------------------------------------

\* A step that leaves it is cut off: it has no next state.
InBounds == submitted \in 0..Submissions /\ loaded \in 0..Loads

TypeOK ==
    /\ stored \in Flag \cup {None}
    /\ requests \subseteq Flag
    /\ file \in Flag \cup {None}
    /\ contexts \subseteq Flag
    /\ current \subseteq Flag
    /\ phase \in Phase
    /\ unread \subseteq Flag
    /\ result \in (SUBSET Flag) \cup {NoSet}
    /\ quiet \in BOOLEAN
    /\ again \in BOOLEAN
    /\ InBounds

Init == nothing /\ InBounds

Step ==
    \/ \E flag \in Flag : submit_request(flag)
    \/ \E flag \in Flag : submit_file(flag)
    \/ fail_over
    \/ load_again
    \/ load_reassignments
    \/ \E flag \in unread : load_request(flag)
    \/ end_requests
    \/ load_partitions
    \/ \E flag \in Flag : store(flag)
    \/ remove_request
    \/ complete

Next == Step /\ InBounds'

Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------------------------------

\* I6. Otherwise two reassignments of one partition, old style and new, run at once and undo
\* each other.
one_flag_a_partition == Cardinality(contexts) <= 1

\* I6. Otherwise a controller that reads the places again forgets, or takes up, a reassignment.
loading_twice_is_loading_once ==
    load_partitions => ~again \/ result = NoSet \/ contexts' = result

always_loading_twice_is_loading_once == [][loading_twice_is_loading_once]_vars

\* I6. Otherwise a fail-over alone changes what becomes of a partition.
a_new_controller_loads_the_same ==
    load_partitions => again \/ result = NoSet \/ contexts' = result

always_a_new_controller_loads_the_same == [][a_new_controller_loads_the_same]_vars

\* I6. Otherwise a request made while nobody was in control is never carried out.
something_is_loaded ==
    load_partitions =>
        (LET noted == stored # None \/ file # None \/ contexts # NONE
         IN  ~noted \/ contexts' # NONE)

always_something_is_loaded == [][something_is_loaded]_vars

\* I6. Otherwise a fail-over ends a reassignment that nobody cancelled.
what_goes_on_is_loaded == load_partitions => stored = None \/ stored \in contexts'

always_what_goes_on_is_loaded == [][what_goes_on_is_loaded]_vars

\* The rule refuses a context: its legacy flag differs from that of the contexts already
\* loaded.
refused_for_its_flag ==
    /\ (\E flag \in unread : load_request(flag)) \/ load_partitions
    /\ LET other == file # None /\ phase = "PARTITIONS" /\ file \notin contexts'
       IN  other \/ (unread \ unread') \ contexts' # NONE

never_refused_for_its_flag == [][~refused_for_its_flag]_vars

fails_over_while_loading == fail_over /\ phase = "PARTITIONS" /\ contexts # NONE

never_fails_over_while_loading == [][~fails_over_while_loading]_vars

asked_for == stored # None \/ requests # NONE \/ file # None

loaded_twice == load_partitions /\ result # NoSet /\ asked_for

never_loaded_twice == [][~loaded_twice]_vars

===================================================================================================
