"""Train a network further on pairs with a reference; a training that was interrupted goes on where it stopped.

The folder:

    last.tar         the network after the last steps, with the state of the optimiser
    best.tar         the network after the epoch with the smallest error on the validation pairs
    training.csv     a line per epoch

Both checkpoints are files of weights for ``--weights`` and :func:`bdis.evaluation.networks.load_network`.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...common.atomic import write_whole
from ...common.reading import read_limited
from ...vector.memory_room import check_room
from ..datasets import Dataset, Entry
from .checkpoints import MAX_BYTES, about_training, git_id, load_safely
from .matcher import NetworkMatcher, threads_of_torch
from .options import FinetuneOptions
from .training import Crop, crop, errors_of, loss_of, split

LAST, BEST, TABLE = "last.tar", "best.tar", "training.csv"
SAVE_EVERY_S = 60.0
BETAS = 0.9, 0.999  # of Adam
# Memory of a step, measured with both networks: of the process, per px of a crop, and per px and disparity.
BASE_BYTES, BYTES_PER_PX, BYTES_PER_CELL = 300_000_000, 8500, 140


@dataclass
class Trained:
    """How far a training is.

    Attributes
    ----------
    steps, steps_before : int
        Steps done, and those of them that an earlier run did.
    history : list of dict
        Per epoch: "epoch", "loss" (mean of its steps) and "error_px" (mean absolute error on the validation pairs).
    """

    steps: int = 0
    steps_before: int = 0
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def best_epoch(self) -> int:
        """The epoch with the smallest error on the validation pairs, counted from 1; 0 before the first."""
        errors = [each["error_px"] for each in self.history]
        return 1 + errors.index(min(errors)) if errors else 0


Progress = Callable[[int, int, float], None]  # steps done, steps in total, loss of the last step


class Finetuning:
    """A training in a folder.

    Parameters
    ----------
    matcher : NetworkMatcher
        The network to start from; it is trained in place.
    origin : str
        What tells its weights and the data from others; a training is continued only for the same.
    data : sequence of Dataset
        Pairs with a reference.
    folder : Path
        Created if it does not exist.
    options : FinetuneOptions
    validated : int, optional
        Pairs kept for validation; by default 40 of 300.

    Raises
    ------
    ValueError
        Too few pairs, too small crops, or the folder holds another training.
    OSError
        The folder cannot be written to.
    """

    def __init__(
        self,
        matcher: NetworkMatcher,
        origin: str,
        data: Sequence[Dataset],
        folder: Path,
        options: FinetuneOptions,
        validated: int | None = None,
    ):
        self.matcher, self.network, self.options, self.folder = matcher, matcher.network, options, Path(folder)
        self.training, self.validation = split(data, validated)
        self._check_crops()
        self._plan = {
            "network": matcher.name,
            "origin": origin,
            "pairs": ", ".join(f"{each.name} ({len(each)})" for each in data),
            "validated": len(self.validation),
            "max_disparity": self.network.max_disparity,
            "align_corners": self.network.align_corners,
            "disparity_scale": matcher.disparity_scale,
            **asdict(options),
        }
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=options.learning_rate, betas=BETAS)
        self.state = Trained()
        self._losses: list[float] = []  # of this epoch
        self._resume()

    def _check_crops(self) -> None:
        height, width, smallest = self.options.crop_height, self.options.crop_width, self.network.smallest_px
        name = self.matcher.name
        if min(height, width) < smallest:
            raise ValueError(f"crops of {width}x{height}, but {name} takes {smallest}x{smallest} px or more")
        # Batch norms need more than one value, and PSMNet's largest windows may be one per crop.
        if min(self.options.batch, len(self.training)) * (height // smallest) * (width // smallest) < 2:
            raise ValueError(
                f"one pair at a time in crops of {width}x{height} is too little to train {name}: take two, or crops of "
                f"{2 * smallest}x{smallest}"
            )

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in all pairs; those that are left over have their turn in another epoch."""
        return max(len(self.training) // self.options.batch, 1)

    @property
    def total_steps(self) -> int:
        """Steps of the whole training."""
        return self.steps_per_epoch * self.options.epochs

    def memory_bytes(self, batch: int | None = None) -> int:
        """About how much memory a step takes, for so many pairs or those of the options."""
        pixels = self.options.crop_height * self.options.crop_width * (batch or self.options.batch)
        return BASE_BYTES + pixels * (BYTES_PER_PX + BYTES_PER_CELL * self.network.max_disparity)

    def run(self, progress: Progress = lambda done, total, loss: None) -> Trained:
        """Train to the end.

        Parameters
        ----------
        progress : callable
            Called after every step.

        Returns
        -------
        Trained

        Raises
        ------
        MemoryError
            There is not enough memory for a batch.
        ValueError
            The loss is not finite any more, or a pair cannot be used.
        OSError
            A checkpoint cannot be written; the one before is still there.
        """
        if self.matcher.device.type == "cpu" and self.state.steps < self.total_steps:
            one = f"(--batch 1: {self.memory_bytes(1) // 1_000_000} MB)"
            check_room(self.memory_bytes() // 1_000_000, f"to train with a batch of {self.options.batch} {one}")
        self.folder.mkdir(parents=True, exist_ok=True)
        saved_at = time.monotonic()
        with threads_of_torch(self.matcher.options.threads):
            while self.state.steps < self.total_steps:
                loss = self._step()
                ends_epoch = self.state.steps % self.steps_per_epoch == 0
                if ends_epoch:
                    self._end_epoch()
                if ends_epoch or time.monotonic() - saved_at > SAVE_EVERY_S:
                    self._save(LAST, with_optimizer=True)
                    saved_at = time.monotonic()
                progress(self.state.steps, self.total_steps, loss)
        self.network.eval()
        return self.state

    # --- Steps ------------------------------------------------------------------------------------------------------

    def _step(self) -> float:
        epoch, number = divmod(self.state.steps, self.steps_per_epoch)
        order = np.random.default_rng([self.options.seed, epoch]).permutation(len(self.training))
        chosen = order[number * self.options.batch : (number + 1) * self.options.batch]
        random = np.random.default_rng([self.options.seed, epoch, number])
        seen = self._crop([self.training[index] for index in chosen], random)
        for group in self._optimizer.param_groups:
            group["lr"] = self.options.learning_rate * (0.1 if 3 * epoch >= 2 * self.options.epochs else 1.0)
        self.network.train()
        self._optimizer.zero_grad()
        loss = loss_of(self.network, seen, self.matcher.disparity_scale)
        self.state.steps += 1
        if loss is None:  # no reference in this part
            return math.nan
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ValueError(
                f"the loss is {value} in step {self.state.steps}: try a smaller learning rate; "
                f"{self.folder} has the state before"
            )
        loss.backward()
        self._optimizer.step()
        self._losses.append(value)
        return value

    def _crop(self, entries: Sequence[Entry], random: np.random.Generator | None) -> Crop:
        found = crop(entries, (self.options.crop_height, self.options.crop_width), random)
        return Crop(*(each.to(self.matcher.device) for each in found))

    def _end_epoch(self) -> None:
        epoch = self.state.steps // self.steps_per_epoch
        loss = float(np.mean(self._losses)) if self._losses else math.nan
        self._losses = []
        self.state.history.append({"epoch": epoch, "loss": loss, "error_px": self._error()})
        if self.state.best_epoch == epoch:
            self._save(BEST, with_optimizer=False)
        lines = [",".join(f"{each[name]:g}" for name in ("epoch", "loss", "error_px")) for each in self.state.history]
        write_whole(self.folder / TABLE, "\n".join(["epoch,loss,error_px", *lines, ""]).encode())

    def _error(self) -> float:
        """Mean absolute error in the middle of the validation pairs, px; infinite if none has a reference there."""
        self.network.eval()
        with torch.inference_mode():
            errors = [
                errors_of(self.network, self._crop([entry], None), self.matcher.disparity_scale)
                for entry in self.validation
            ]
        means = [float(each.mean()) for each in errors if each.numel()]
        return float(np.mean(means)) if means else math.inf

    # --- Checkpoints ------------------------------------------------------------------------------------------------

    def _save(self, name: str, *, with_optimizer: bool) -> None:
        content: dict[str, Any] = {
            "state_dict": self.network.state_dict(),
            **about_training(self.network, self.matcher.disparity_scale),
        }
        if with_optimizer:
            content["training"] = {
                "plan": self._plan, "optimizer": self._optimizer.state_dict(), "steps": self.state.steps,
                "history": self.state.history, "losses": self._losses,
            }  # fmt: skip
        buffer = io.BytesIO()
        torch.save(content, buffer)
        write_whole(self.folder / name, buffer.getvalue())

    def _resume(self) -> None:
        """Take over what an earlier run left in the folder, if there was one."""
        path = self.folder / LAST
        if not path.exists():
            return
        try:
            saved = load_safely(read_limited(path, MAX_BYTES), path)
        except ValueError as error:
            raise ValueError(f"the training cannot be continued: {error}; delete it or choose another folder") from None
        training = saved.get("training") if isinstance(saved, dict) else None
        if not isinstance(training, dict) or not isinstance(training.get("plan"), dict):
            raise ValueError(f"{path} is not from bdis networks finetune; choose another folder")
        if differing := [key for key, value in self._plan.items() if training["plan"].get(key) != value]:
            key = differing[0]
            raise ValueError(
                f"{self.folder} holds another training: its {key} is {training['plan'].get(key)!r}, "
                f"not {self._plan[key]!r}; choose another folder"
            )
        try:
            self.network.load_state_dict(saved["state_dict"])
            self._optimizer.load_state_dict(training["optimizer"])
            self.state = Trained(training["steps"], training["steps"], list(training["history"]))
            self._losses = list(training["losses"])
        except Exception as error:  # whatever a file lacks that was changed by hand
            raise ValueError(f"{path} cannot be continued ({type(error).__name__}); choose another folder") from None


def start_of(weights: Path) -> str:
    """What tells a file of weights from others: its name and git's id."""
    return f"{Path(weights).name} {git_id(read_limited(weights, MAX_BYTES))[:12]}"
