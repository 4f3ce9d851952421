"""Depth of a whole video on the disk: written so that nothing is lost, read back, gone on with."""

from .depth_video import DEPTH_VIDEO, MOST_STEPS, STEPS_PER_MM, DepthVideo, read_depth_video
from .frame_files import FRAME_FILES
from .journal import JOURNAL, FrameRecord, read_journal
from .manifest import MANIFEST, read_manifest
from .preview_video import PREVIEW_VIDEO, PreviewVideo
from .recording import NEED_DEPTH, OUTPUTS, RIG_FILE, Plan, Recording, check_new, is_complete

__all__ = [
    "DEPTH_VIDEO",
    "FRAME_FILES",
    "JOURNAL",
    "MANIFEST",
    "MOST_STEPS",
    "NEED_DEPTH",
    "OUTPUTS",
    "PREVIEW_VIDEO",
    "RIG_FILE",
    "STEPS_PER_MM",
    "DepthVideo",
    "FrameRecord",
    "Plan",
    "PreviewVideo",
    "Recording",
    "check_new",
    "is_complete",
    "read_depth_video",
    "read_journal",
    "read_manifest",
]
