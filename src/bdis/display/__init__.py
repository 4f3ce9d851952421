"""How maps are shown: colours and their ranges, small pictures, HTML for notebooks, Matplotlib figures.

This room knows arrays and texts, and nothing of stereo.  Matplotlib is imported by ``figure.py`` alone, when something
is drawn.
"""
