"""Depth to 3D Slicer by OpenIGTLink, and a client that reads it as 3D Slicer would.

python examples/slicer.py [FOLDER]
"""

import socket
import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.connections.igtl import HEADER_BYTES, parse_header
from bdis.video.live.igtl import DEPTH, IgtlOutput
from bdis.video.live.listening import Address

target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output") / "slicer-example"
target.mkdir(parents=True, exist_ok=True)

# Your own camera:  source = bdis.open_source(0), and rig = bdis.Rig.load("calibration.yaml")
source = bdis.open_source("render:colon,frames=5,height=120,width=160")
matcher = bdis.StereoMatcher("fast", variance=True)

# In 3D Slicer: OpenIGTLinkIF, a connector of type Client, port 18944.  Port 0 is any that is free.
with IgtlOutput(Address("127.0.0.1", 0), source.rig) as output:
    client = socket.create_connection(output.address).makefile("rb")
    for frame in bdis.DepthStream(source, matcher):
        output.offer(frame)  # returns at once
print(f"{output.sent} frames sent, {output.dropped} dropped")

# What the client got; 0 is an unknown depth.
while header_bytes := client.read(HEADER_BYTES):
    header = parse_header(header_bytes)
    body = client.read(header.body_bytes)
    if header.device == DEPTH:
        depth_mm = np.frombuffer(body, "<f4", offset=72).reshape(120, 160)
        print(f"{header.device} of {header.time_s:.3f}: median {np.median(depth_mm[depth_mm > 0]):.1f} mm")
        np.save(target / "depth.npy", depth_mm)
client.close()
print(f"written to {target}: depth.npy")
