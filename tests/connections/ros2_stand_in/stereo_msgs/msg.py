"""Types of messages."""


class DisparityImage:
    pass
