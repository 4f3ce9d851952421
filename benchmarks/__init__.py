"""Speed and accuracy of the matcher, side by side with OpenCV: ``python -m benchmarks``."""
