"""The fixed places of a tally, in which a kernel counts: an array of words that each thread has for itself.

`ACTIONS_AT` is followed by one place for each action (its successors and clipped steps), then one for each bound that
steps may exceed.
"""

from __future__ import annotations

ERROR = 0
"""1 + the row of a state in which Python raises; 0: none."""
CLIPS_TOTAL = 1
"""Steps that exceed a bound."""
GENERATED = 2
"""Steps within the bounds."""
SWITCH = 3
"""1 + the number of the guard that is left out; 0: none is."""
ACTIONS_AT = 4
