"""The tables of the paper: its printed numbers, and the same experiments run again."""
