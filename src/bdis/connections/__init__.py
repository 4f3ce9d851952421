"""What other software speaks: messages and file layouts of ROS, 3D Slicer, Foxglove and reconstruction tools.

One module per protocol, each with an optional package of its own that is imported when it is needed.  They turn arrays
and rigs into messages and back, and know nothing of streams: ``video/sources/`` reads frames with them,
``video/recording/`` records with them, and ``video/live/`` sends every frame on.
"""
