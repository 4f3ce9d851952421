"""What a user asked for cannot be, whatever the data are."""


class BadRequest(ValueError):
    """Options that contradict each other or do not fit the source; the commands answer it as a wrong command line."""
