"""The options of ``bdis batch`` that say where the work is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal

if TYPE_CHECKING:
    from ..cluster.cluster_choice import ClusterChoice
    from ..cluster.connection import Connection


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options that say where the work is done."""

    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Workers on this machine [default: one per core]; with --slurm, jobs [default: 1]."
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Use the workers of a Dask scheduler, such as tcp://host:8786."),
    ] = None
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIONS",
            help="Start workers through SLURM: partition=NAME,cores=8,memory=16GB,time=04:00:00, also account=NAME.",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, with --slurm its script, and end.")
    ] = False
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long to wait for workers, and for a scheduler that went away, before giving up.",
        ),
    ] = 300.0
    tls_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate of the authority, for a scheduler at tls://.")
    ] = None
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Own certificate, with --tls-ca.")] = None
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Key of --tls-cert.")] = None

    def choice(self) -> ClusterChoice:
        """All of it, without what belongs to a command line."""
        from ..cluster.cluster_choice import ClusterChoice

        return ClusterChoice(
            self.workers, self.scheduler, self.slurm, self.tls_ca, self.tls_cert, self.tls_key, self.wait
        )


def say_script(choice: ClusterChoice) -> str | None:
    """Print what SLURM would get for a job, which is returned; None without SLURM."""
    if choice.slurm is None:
        return None
    from ..cluster.slurm import slurm_script

    script = slurm_script(choice.slurm, choice.security())
    terminal.say(f"jobs of SLURM: {choice.workers or 1}, with this script:\n\n{script}")
    return script


def say_connection(connection: Connection) -> None:
    """Print what to know about a connection, and where Dask shows the work."""
    for text in connection.warnings:
        terminal.warn(text)
    if connection.dashboard is None:
        terminal.note("Dask shows no page about the work, as its scheduler has no bokeh (pip install bokeh)")
    else:
        terminal.note(f"Dask's page about the work: {connection.dashboard}")
