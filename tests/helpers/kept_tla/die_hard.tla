----------------------------------------- MODULE die_hard -----------------------------------------
\* Die Hard: measure exactly four gallons with a three-gallon and a five-gallon jug.
\*
\* A toy with an answer known by hand: 16 reachable states, and the shortest way to four
\* gallons takes six steps.
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    \* Gallons wanted in the big jug.
    Goal

ASSUME Goal \in 0..5

VARIABLES
    \* @type: Int;
    small,
    \* @type: Int;
    big

vars == <<small, big>>

Min(S) == CHOOSE x \in S : \A y \in S : x <= y

---------------------------------------------------------------------------------------------------

empty == small = 0 /\ big = 0

fill_small == small' = 3 /\ UNCHANGED big

fill_big == big' = 5 /\ UNCHANGED small

empty_small == small' = 0 /\ UNCHANGED big

empty_big == big' = 0 /\ UNCHANGED small

small_to_big ==
    LET poured == Min({small, 5 - big})
    IN  small' = small - poured /\ big' = big + poured

big_to_small ==
    LET poured == Min({big, 3 - small})
    IN  small' = small + poured /\ big' = big - poured

---------------------------------------------------------------------------------------------------

\* A step that leaves it is cut off: it has no next state.
InBounds == small \in 0..3 /\ big \in 0..5

TypeOK == InBounds

Init == empty /\ InBounds

Step ==
    \/ fill_small
    \/ fill_big
    \/ empty_small
    \/ empty_big
    \/ small_to_big
    \/ big_to_small

Next == Step /\ InBounds'

Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------------------------------

\* Its counterexample is the solution of the puzzle.
goal_not_reached == big # Goal

\* No run ends.
NoDeadlock == ENABLED Step

===================================================================================================
