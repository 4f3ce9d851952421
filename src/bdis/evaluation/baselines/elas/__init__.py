"""ELAS (Geiger et al. 2010), written from its paper, to compare with."""
