"""Recordings: depth of a whole video on the disk, written so that an interruption loses nothing, and read back."""

from .bag_output import BagPlan
from .clip_range import range_of_clip
from .completeness import is_complete
from .depth_video import DEPTH_VIDEO, MOST_STEPS, STEPS_PER_MM, DepthVideo, read_depth_video
from .frame_log import FRAME_LOG, FrameLog, FrameRecord, read_frame_log
from .inventory import RIG_FILE, find_foreign_files
from .manifest import MANIFEST, read_manifest
from .outputs import BAGS, OUTPUTS, Output, RecordingPlan
from .preview_video import PREVIEW_VIDEO, PreviewVideo
from .recorded import RecordedDepth, RecordedFrame
from .recording import Recording
from .recording_folder import check_new
from .restart import Restart
from .writer import FrameWriter

__all__ = [
    "BAGS",
    "DEPTH_VIDEO",
    "FRAME_LOG",
    "MANIFEST",
    "MOST_STEPS",
    "OUTPUTS",
    "PREVIEW_VIDEO",
    "RIG_FILE",
    "STEPS_PER_MM",
    "BagPlan",
    "DepthVideo",
    "FrameLog",
    "FrameRecord",
    "FrameWriter",
    "Output",
    "PreviewVideo",
    "RecordedDepth",
    "RecordedFrame",
    "Recording",
    "RecordingPlan",
    "Restart",
    "check_new",
    "find_foreign_files",
    "is_complete",
    "range_of_clip",
    "read_depth_video",
    "read_frame_log",
    "read_manifest",
]
