"""Types of command-line arguments: each takes a text, or says in a line what to write instead."""

from __future__ import annotations

import argparse
import re

from reassure.checkers.request.options import seconds


def duration(text: str) -> float:
    """As `seconds`, for the command line."""
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> int:
    """A size such as `2G` or `512M`, in bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 512M or 2G")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def whole(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def ids(text: str) -> list[int]:
    """Different whole numbers with commas between them."""
    numbers = [whole(part) for part in text.split(",")]
    if len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(f"{text!r} names one twice")
    return numbers


def seed(text: str) -> int:
    """A whole number of 63 bits."""
    if not text.isdigit() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def weight(text: str) -> tuple[str, int]:
    """`ACTION=N`, N from 0 to a million."""
    name, _, number = text.partition("=")
    if not name or not number.isdigit() or int(number) > 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a weight; write ACTION=N, N from 0 to 1000000")
    return name, int(number)


def setting(text: str) -> tuple[str, str]:
    """`KEY=VALUE` of Spark's."""
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting of Spark; write spark.KEY=VALUE")
    return key, value
