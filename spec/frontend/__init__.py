"""The front end: from the functions of a model to the typed graph that engines translate.

From the top: `lowering.py` goes through the declarations (`declarations.py`) of a model, and gives a `LoweredModel`
(`lowered_model.py`). A declaration is a function of the model (`functions.py`), whose `statements.py` have expressions.
Three tables say which function lowers a construct: `STATEMENTS` in `statements.py`, and in `lowering.py` `CONSTRUCTS`
for expressions and `CALLS` for what the language offers.

The functions that lower a construct take a `Context` (`context.py`): the function that is being lowered with its
variables, the condition under which Python gets here, and the checks it has passed. They ask for the value of a part
through `evaluation.py`, and get a symbolic value (`symbolic_values.py`); its scalars are nodes of the graph (`ir.py`).

To add a construct: a function in the module of its family, a line in its table, and rows in the tables of
`tests/helpers/constructs.py`.
"""
