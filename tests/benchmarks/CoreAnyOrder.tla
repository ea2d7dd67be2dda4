---- MODULE CoreAnyOrder ----
\* The protocol of models/examples/core.py with the order of brokers forgotten: any eligible broker is elected.
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS B, NONE, MINISR
VARIABLES rep, isr, add, rem, unf, pisr, lead, pv
AnyOf(S) == IF S = {} THEN {NONE} ELSE S
Init ==
  /\ \E r \in SUBSET B : Cardinality(r) = 3 /\ rep = r /\ isr = r /\ lead \in r
  /\ add = {} /\ rem = {} /\ unf = B /\ pisr = {} /\ pv = FALSE
Fence(b) ==
  /\ b \in unf
  /\ LET ch == b \in isr /\ Cardinality(isr) > 1
         nisr == IF ch THEN isr \ {b} ELSE isr IN
     /\ isr' = nisr
     /\ lead' \in IF lead = b THEN AnyOf((nisr \cap unf) \ {b}) ELSE {lead}
     /\ unf' = unf \ {b}
     /\ IF ch THEN pv' = FALSE /\ pisr' = {} ELSE UNCHANGED <<pv, pisr>>
  /\ UNCHANGED <<rep, add, rem>>
Unfence(b) ==
  /\ b \notin unf /\ unf' = unf \cup {b} /\ lead' = IF lead = NONE /\ b \in isr THEN b ELSE lead
  /\ UNCHANGED <<rep, isr, add, rem, pisr, pv>>
Propose ==
  /\ lead # NONE /\ ~pv
  /\ \E m \in SUBSET (rep \cap unf) : lead \in m /\ m # isr /\ pv' = TRUE /\ pisr' = m
  /\ UNCHANGED <<rep, isr, add, rem, unf, lead>>
Alter ==
  /\ pv
  /\ LET f == pisr \ rem IN
     IF ~(pisr \subseteq unf) THEN UNCHANGED <<rep, isr, add, rem, unf, lead>>
     ELSE IF (add \cup rem) # {} /\ add \subseteq f /\ Cardinality(f) >= MINISR
     THEN /\ lead' \in IF lead \in f THEN {lead} ELSE AnyOf(f)
          /\ rep' = rep \ rem /\ isr' = f /\ add' = {} /\ rem' = {} /\ UNCHANGED unf
     ELSE isr' = pisr /\ UNCHANGED <<rep, add, rem, unf, lead>>
  /\ pv' = FALSE /\ pisr' = {}
Reassign ==
  /\ add \cup rem = {}
  /\ \E t \in SUBSET B : /\ t # rep /\ Cardinality(t) >= MINISR
      /\ LET a == t \ rep r == rep \ t f == isr \ r IN
        IF a = {} /\ Cardinality(f) >= MINISR
        THEN /\ lead' \in IF lead # NONE /\ lead \notin f THEN AnyOf(f \cap unf) ELSE {lead}
             /\ rep' = t /\ isr' = f /\ UNCHANGED <<add, rem>>
        ELSE /\ rep' = rep \cup a /\ add' = a /\ rem' = r /\ UNCHANGED <<isr, lead>>
  /\ pv' = FALSE /\ pisr' = {} /\ UNCHANGED unf
Cancel ==
  /\ add \cup rem # {}
  /\ LET n == isr \ add IN
     /\ Cardinality(n) >= MINISR
     /\ lead' \in IF lead # NONE /\ lead \notin n THEN AnyOf(n \cap unf) ELSE {lead}
     /\ rep' = rep \ add /\ isr' = n /\ add' = {} /\ rem' = {}
  /\ pv' = FALSE /\ pisr' = {} /\ UNCHANGED unf
Next == (\E b \in B : Fence(b) \/ Unfence(b)) \/ Propose \/ Alter \/ Reassign \/ Cancel
Renamings == Permutations(B)
Inv == isr \subseteq rep
====
