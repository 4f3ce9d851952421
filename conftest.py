"""Doctests of modules that import torch are collected only where it is installed: ``make test-networks``."""

from importlib.util import find_spec

NETWORKS = "src/bdis/evaluation/networks"
NEED_TORCH = ("architectures", "checkpoints", "finetune", "gwcnet", "layers", "matcher", "psmnet", "training")

collect_ignore = [] if find_spec("torch") else [f"{NETWORKS}/{name}.py" for name in NEED_TORCH]
