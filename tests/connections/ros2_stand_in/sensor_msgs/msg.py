"""Types of messages; serialised ones are never made into objects."""


class Image:
    pass


class CompressedImage:
    pass


class CameraInfo:
    pass


class PointCloud2:
    pass
