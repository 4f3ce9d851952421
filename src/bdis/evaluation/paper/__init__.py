"""The tables of the paper, rerun."""
