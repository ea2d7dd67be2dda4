"""Entries of claims as text."""

from __future__ import annotations

CLAIM = """
[[claim]]
id = "K1"
document = "a.txt"
statement = "Something."
"""

READING = """
[[claim.reading]]
name = "as printed"
model = "kraft"
properties = ["leader_is_in_sync"]
method = "check"
expect = "holds"
"""

CASES = """
[[claim.reading]]
name = "by cases"
function = "models.examples:all_of_them"
method = "enumerate"
expect = "holds"
"""
