---- MODULE CoreLiveness ----
\* models/examples/core_liveness.py, as TLC reads it: Core.tla with fairness for each broker, and what it promises.
EXTENDS Core
Spec == Init /\ [][Next]_vars /\ \A b \in B : WF_vars(Unfence(b))
ALeaderComesBack == lead = N ~> lead # N
====
