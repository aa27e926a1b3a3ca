"""The error of this package."""


class Error(Exception):
    """A failure in words: of a file that is no policy, of an argument, or of the command line."""
