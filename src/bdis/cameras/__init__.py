"""From pixels to millimetres: rigs, raw cameras, rectification, and the calibration files of other tools."""
