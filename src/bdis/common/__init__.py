"""Helpers that every package of bdis may import and that know nothing of stereo."""
