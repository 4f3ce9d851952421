"""Types of messages."""


class String:
    pass
