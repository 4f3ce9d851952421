"""The paper, and what goes beyond it: from a rectified pair to disparity and its uncertainty."""
