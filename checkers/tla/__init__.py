"""Models as TLA+: the module that is exported, and TLC's answers about it beside those of our engines.

From the top: `module.py` writes the module of a model from its declarations (`declarations.py`). These are functions of
the model, whose bodies (`bodies.py`) have expressions (`expressions.py`, `calls.py`, `iteration.py`) of kinds
(`kinds.py`). A translated expression is a term (`terms.py`). `context.py` has what all of these share: names and
definitions. `second_opinion.py` runs TLC (`tlc.py`) on the module and compares its answers with ours.
"""
