"""Models in pytest."""


class ModelCheckFailed(AssertionError):
    """A model is not as a test expects; the message tells the shortest counterexample."""
