"""Video: sources of frames, the stream that matches them, recordings of the result."""
