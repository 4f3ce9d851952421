"""From a source to matched frames, in threads."""
