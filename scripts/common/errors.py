"""The one exception for users to read."""


class StudyError(Exception):
    """A fault that the user can correct: its text names the key, file or line, and the remedy.

    Raised anywhere below a rule's `main`; `common.entry.running` prints it as one message and exits 1.
    """
