"""Networks for comparison."""
