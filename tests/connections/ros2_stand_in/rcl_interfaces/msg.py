"""The answer to a change of parameters."""


class SetParametersResult:
    def __init__(self, *, successful, reason):
        self.successful, self.reason = successful, reason
