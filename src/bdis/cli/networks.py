"""``bdis networks``: train a network further."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .frame_progress import frame_progress
from .options import Debug, Json, must_be, parse_size
from .other_methods import NetworkOption, options_of_networks
from .terminal import UsageError

if TYPE_CHECKING:
    from ..evaluation.networks.finetune import Finetuning
    from ..evaluation.networks.options import FinetuneOptions

PAPER = "render:colon,frames=300"  # 260 pairs to train and 40 to validate

networks_app = typer.Typer(rich_markup_mode=None)


@networks_app.callback()
def networks() -> None:
    """Train a neural network further."""


@networks_app.command("finetune")
def finetune(
    network: Annotated[str, typer.Argument(metavar="NETWORK", help="psmnet, gwcnet-g or gwcnet-gc.")],
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATASET",
            help=f"Pairs with a reference: folder, KIND:FOLDER, or rendered scene.  [default: {PAPER}]",
        ),
    ] = None,
    weights: Annotated[Path | None, typer.Option(metavar="FILE", help="Checkpoint to start from.")] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the training; it can be continued there.")
    ] = Path("bdis-finetuned"),
    epochs: Annotated[int, typer.Option(metavar="N", help="How often each pair is seen.")] = 300,
    batch: Annotated[int, typer.Option(metavar="N", help="Pairs per step; memory grows with it.")] = 12,
    crop: Annotated[str, typer.Option(metavar="WxH", help="Size of what is seen of a pair in a step.")] = "512x256",
    learning_rate: Annotated[
        float, typer.Option(metavar="RATE", help="Of Adam; a tenth of it in the last third of the epochs.")
    ] = 1e-3,
    validate: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pairs to keep for validation, the last ones of each group.  [default: 40 of 300]",
            callback=must_be("1 or more", lambda count: count >= 1),
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of order and crops.")] = 0,
    network_option: NetworkOption = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Train a network further on your own pairs, or on rendered ones.

    \b
    bdis networks finetune psmnet --weights pretrained_model_KITTI2015.tar -o colon
    bdis networks finetune gwcnet-g /data/SERV-CT --weights gwcnet.ckpt --batch 2 --network-option max_disparity=96
    bdis bench render:colon --methods bdis,psmnet --weights psmnet=colon/best.tar

    By default as in Section IV-B of the paper: Adam, 300 epochs, 260 pairs to train and 40 to validate. That is work
    for a graphics card, which is used if there is one.

    Files written: last.tar, best.tar (smallest error on the validation pairs) and training.csv. If the same command is
    given again, an interrupted training continues where it stopped.
    """
    from ..evaluation.networks.options import FinetuneOptions

    if weights is None:
        raise UsageError("--weights FILE is missing: the checkpoint to start from")
    width, height = parse_size(crop)
    try:
        options = FinetuneOptions(epochs, batch, width, height, learning_rate, seed)
    except ValueError as error:
        raise UsageError(str(error)) from error
    training = _prepare(network, weights, datasets or [PAPER], out, options, validate, network_option or [])
    _introduce(training)
    terminal.mode.interrupted = f"interrupted; the same command continues from here (the last state is in {out})"
    _train(training)
    _report(training, out)


def _prepare(
    network: str,
    weights: Path,
    datasets: list[str],
    out: Path,
    options: FinetuneOptions,
    validate: int | None,
    network_options: list[str],
) -> Finetuning:
    from ..common.assignments import read_values
    from ..common.optional import require
    from ..evaluation.datasets import open_dataset
    from ..evaluation.networks import NETWORKS, open_network
    from ..evaluation.networks.options import TRAINED_DISPARITY, NetworkOptions
    from .bench import kind_and_place

    if network not in NETWORKS:
        raise UsageError(f"unknown network {network!r}; there are {', '.join(NETWORKS)}")
    values = read_values(options_of_networks([network], network_options)[network], NetworkOptions)
    most = values.pop("max_disparity", None) or TRAINED_DISPARITY
    places = [kind_and_place(where, None) for where in datasets]
    data = [open_dataset(place, kind) for kind, place in places]
    if one_way := [each.name for each in data if each.forward_only]:
        raise ValueError(f"{one_way[0]} is a video, whose frames cannot be read in any order; extract its frames first")
    require("torch", "training a network")
    from ..evaluation.networks.finetune import Finetuning, start_of

    with terminal.working(f"loading {network}"):
        matcher = open_network(network, weights, most, **values)
        origin = f"{start_of(weights)}; {', '.join(datasets)}"
        return Finetuning(matcher, origin, data, out, options, validate)


def _introduce(training: Finetuning) -> None:
    for text in training.matcher.remarks:
        terminal.warn(text)
    terminal.note(
        f"training {training.matcher.name} on {training.matcher.device.type} with {len(training.training)} pairs, "
        f"{len(training.validation)} to validate, {training.total_steps} steps; "
        f"about {training.memory_bytes() / 1e9:.1f} GB of memory"
    )
    if training.state.steps:
        terminal.note(f"continuing after step {training.state.steps}")


def _train(training: Finetuning) -> None:
    before, begin = training.state.steps, time.monotonic()

    def speed() -> float:
        return (training.state.steps - before) / max(time.monotonic() - begin, 1e-9)

    with frame_progress(training.total_steps, before, speed, what="training", unit="steps") as progress:
        training.run(lambda done, total, loss: progress(done))


def _report(training: Finetuning, out: Path) -> None:
    from ..evaluation.networks.options import TRAINED_DISPARITY

    history: list[dict[str, Any]] = training.state.history
    best = history[training.state.best_epoch - 1]
    terminal.table(
        [
            ("network", f"{training.matcher.name}, {training.state.steps} steps, {len(history)} epochs"),
            ("loss", f"{history[0]['loss']:.3f} in the first epoch, {history[-1]['loss']:.3f} in the last"),
            ("validation", f"error {best['error_px']:.3f} px on average in the best epoch, {best['epoch']}"),
            ("written", f"{out}: last.tar, best.tar, training.csv"),
        ]
    )
    method: list[object] = ["--method", training.matcher.name, "--weights", out / "best.tar"]
    if training.network.max_disparity != TRAINED_DISPARITY:  # another range than in training gives other disparities
        method += ["--network-option", f"max_disparity={training.network.max_disparity}"]
    terminal.say(f"\nTry: {terminal.command_line('match', 'LEFT', 'RIGHT', *method)}")
    terminal.give({"folder": out, "steps": training.state.steps, "best_epoch": best["epoch"], "history": history})
