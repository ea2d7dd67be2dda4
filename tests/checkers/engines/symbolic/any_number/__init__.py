"""Tests of proofs for any number."""
