"""Cameras: calibration, rectification, and the way from disparity to depth and point clouds."""
