"""A browser's side of the page, without a browser: what an attacker on the network can see and send."""

import random
import struct
import time

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

INPUTS = ("Button", "ButtonGroup", "Checkbox", "Dropdown", "Number", "Slider", "Text", "Vector2")
LOOK = {
    "type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0), "position": (0, 0, 0), "fov": 1.0, "near": 0.1,
    "far": 100.0, "image_height": 100, "image_width": 100, "look_at": (0, 0, 1), "up_direction": (0, -1, 0),
}  # fmt: skip
HUGE = 100_000_000_000_000_000_000  # more than 64 bits; JavaScript sends it as a float
ODD_VALUES = (
    None, True, False, 0, -1, 1, 7, 10**9, 2**63, -(2**63), 2.5, float(HUGE), -float(HUGE), 1e308, float("nan"),
    float("inf"), float("-inf"), "", " ", "nan", "inf", "-1", "1e400", "depth", "__class__", "__init__", "result",
    "frame", "rig", "../../etc/passwd", "<script>alert(1)</script>", "\x00", "x" * 3000, "9" * 400, b"", b"bytes",
    [], [1], [1, 2], [2, 1], [float("nan"), 1], [0, float(HUGE)], ["a", "b"], [[1, 2], [3, 4]], [1] * 500, {},
    {"value": 1}, {"a": {"b": {"c": []}}},
)  # fmt: skip
ODD_PROPERTIES = (
    "value", "props", "uuid", "removed", "update_cb", "sync_cb", "gui_api", "is_button", "__class__", "__dict__",
    "order", "label", "visible", "nothing",
)  # fmt: skip


def encoded(message):
    return msgspec.msgpack.encode(message)


class Attacker:
    """A websocket of the page that sends what it likes.

    Parameters
    ----------
    url : str
        Address of the page.
    headers : dict, optional
        Further headers of the request.
    """

    def __init__(self, url, headers=None):
        self.messages = []  # all that the server has sent so far
        self._socket = connect(
            url.replace("http", "ws", 1), subprotocols=[f"viser-v{viser.__version__}"], compression=None,
            max_size=None, ping_interval=None, close_timeout=0.2, additional_headers=headers or {},
        )  # fmt: skip
        self.send(LOOK)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self._socket.close()

    def send(self, message):
        self.send_raw(encoded(message))

    def send_raw(self, raw):
        self._socket.send(raw)

    def read_until(self, is_so, seconds=10.0):
        """Read messages until one is as wanted."""
        end = time.monotonic() + seconds
        while True:
            data = self._socket.recv(timeout=max(0.0, end - time.monotonic()))
            size = struct.unpack("<QQ", data[:16])[1]
            new = msgspec.msgpack.decode(zstandard.decompress(data[16 : 16 + size]))["messages"]
            self.messages += new
            if any(map(is_so, new)):
                return

    def controls(self):
        """Everything that can be set on the page, as the server describes it to each new browser."""
        if not self.messages:
            self.read_until(lambda message: message["type"] == "ReplayDoneMessage")
        kinds = {f"Gui{kind}Message" for kind in INPUTS}
        return [message for message in self.messages if message["type"] in kinds]

    def control(self, label):
        return next(control for control in self.controls() if control["props"]["label"] == label)

    def set(self, label, value):
        self.send({"type": "GuiUpdateMessage", "uuid": self.control(label)["uuid"], "updates": {"value": value}})


def opens(viewer, **options):
    """Whether the page opens in a fresh browser: all that a new browser is told arrives, with every control."""
    try:
        with Attacker(viewer.url, **options) as browser:
            return len(browser.controls()) > 10
    except (TimeoutError, ConnectionClosed, OSError):
        return False


def plausible_value(control, rng):
    """A value that a user could choose."""
    props = control["props"]
    match control["type"]:
        case "GuiButtonMessage" | "GuiCheckboxMessage":
            return rng.random() < 0.5
        case "GuiDropdownMessage" | "GuiButtonGroupMessage":
            return rng.choice(props["options"])
        case "GuiSliderMessage":
            return rng.uniform(props["min"], props["max"])
        case "GuiTextMessage":
            pixel = f"{rng.randrange(200)}, {rng.randrange(200)} px"
            return rng.choice(("", f"{rng.uniform(-10, 300):.1f}", f"{rng.randrange(5)}", pixel))
        case "GuiVector2Message":
            return [rng.uniform(0, 100), rng.uniform(0, 100)]
    return rng.choice((rng.randrange(20), rng.uniform(0, 100)))


def hostile_messages(controls, count, seed=0, plausible=0.0):
    """Messages as a fuzzer sends them: mostly wrong values for the controls, and all kinds of other messages.

    Parameters
    ----------
    controls : list of dict
        As the server has described them.
    count, seed : int
        Number of messages, and which.
    plausible : float
        Share of updates whose value a user could choose as well.

    Yields
    ------
    bytes
    """
    rng = random.Random(seed)
    uuids = [control["uuid"] for control in controls]

    def point(size):
        return [rng.choice((0.0, 1, -1e300, float("nan"), float("inf"), "x", None)) for _ in range(size)]

    def update():
        if rng.random() < plausible:
            control = rng.choice(controls)
            value = plausible_value(control, rng)
            return {"type": "GuiUpdateMessage", "uuid": control["uuid"], "updates": {"value": value}}
        name = rng.choice(ODD_PROPERTIES) if rng.random() < 0.2 else "value"
        return {"type": "GuiUpdateMessage", "uuid": rng.choice(uuids), "updates": {name: rng.choice(ODD_VALUES)}}

    others = (
        lambda: {**LOOK, rng.choice(list(LOOK)[1:]): rng.choice(ODD_VALUES)},
        lambda: {**LOOK, "position": point(3), "look_at": point(3)},
        lambda: {"type": "ScenePointerMessage", "event_type": rng.choice(("click", "rect-select", "x")),
                 "ray_origin": point(3), "ray_direction": point(3), "screen_pos": [point(2)], "modifier": None},
        lambda: {"type": "GuiFormDirtyMessage", "uuid": rng.choice(ODD_VALUES)},
        lambda: {"type": "GuiFormSubmitMessage", "uuid": rng.choice(uuids)},
        lambda: {"type": "GuiButtonHoldMessage", "uuid": rng.choice(uuids), "frequency": rng.choice(ODD_VALUES)},
        lambda: {"type": "FileTransferStartUpload", "source_component_uuid": rng.choice(uuids), "transfer_uuid": "t",
                 "filename": "../x", "mime_type": "a", "part_count": rng.choice((0, 1, 10**9)), "size_bytes": 0},
        lambda: {"type": "FileTransferPart", "source_component_uuid": rng.choice(uuids), "transfer_uuid": "t",
                 "part_index": 0, "content": b"x"},
        lambda: {"type": "GetRenderResponseMessage", "payload": b"x" * 1000, "render_uuid": "u"},
        lambda: {"type": rng.choice(("ShareUrlRequest", "ShareUrlDisconnect"))},
        lambda: {"type": "SceneNodeClickMessage", "name": "/rig", "instance_index": None, "ray_origin": point(3),
                 "ray_direction": point(3), "screen_pos": point(2), "modifier": None, "owner": ""},
        lambda: {"type": rng.choice(("RunJavascriptMessage", "GuiHtmlMessage", "Message", "")), "source": "alert(1)"},
        lambda: {"type": "GuiUpdateMessage", "uuid": rng.choice(ODD_VALUES), "updates": rng.choice(ODD_VALUES)},
        lambda: rng.choice(ODD_VALUES),
    )  # fmt: skip
    for _ in range(count):
        kind = rng.random()
        if kind < 0.7:
            yield encoded(update())
        elif kind < 0.95:
            yield encoded(rng.choice(others)())
        else:
            whole = encoded(update())
            yield rng.choice((rng.randbytes(rng.randrange(200)), whole[: rng.randrange(len(whole))], b"\x91" * 5000))
