"""From a source to matched frames: reading, rectifying and matching in overlapping threads."""
