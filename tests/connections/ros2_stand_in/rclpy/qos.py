"""Quality of service."""


class ReliabilityPolicy:
    RELIABLE, BEST_EFFORT = "reliable", "best effort"


class DurabilityPolicy:
    TRANSIENT_LOCAL, VOLATILE = "transient local", "volatile"


class QoSProfile:
    def __init__(self, *, depth, reliability, durability):
        self.depth, self.reliability, self.durability = depth, reliability, durability


qos_profile_sensor_data = QoSProfile(
    depth=5, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
