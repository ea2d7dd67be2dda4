"""Random models: written as text, run by every engine and compared with plain Python, shrunk when they differ.

`python -m tests.fuzz --minutes 60 --seed 1` runs by hand; `tests/test_fuzz.py` runs a fixed set.
"""
