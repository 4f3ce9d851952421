"""Files of weights that the rule made, in the form in which the authors published theirs."""

from importlib.util import find_spec

import pytest

from . import rule

if find_spec("torch"):
    import torch

    from bdis.evaluation.networks.architectures import make_network


def published(name):
    """What a published checkpoint of a network holds."""
    tensors = {f"module.{key}": value for key, value in rule.state(make_network(name, 16)).items()}
    if name == "psmnet":
        return {"epoch": 300, "state_dict": tensors, "train_loss": 0.4}
    return {"epoch": 15, "model": tensors, "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3}]}}


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """Files of weights by network."""
    folder = tmp_path_factory.mktemp("weights")
    files = {"psmnet": folder / "psmnet.tar", "gwcnet-g": folder / "g.ckpt", "gwcnet-gc": folder / "gc.ckpt"}
    for name, path in files.items():
        # The old format, as of torch 0.4 and 1.8's predecessors, for PSMNet; today's for GwcNet.
        torch.save(published(name), path, _use_new_zipfile_serialization=name != "psmnet")
    return files
