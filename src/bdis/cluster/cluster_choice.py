"""Where the work of a batch is done: the choice, checked before anything is started."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.bad_request import BadRequest
from ..common.optional import require
from .slurm import slurm_options

PURPOSE = "bdis batch"


@dataclass(frozen=True)
class ClusterChoice:
    """Where the work is done.

    Attributes
    ----------
    workers : int, optional
        Number of workers on this machine (default: one per core), or of SLURM jobs (default: 1).
    scheduler : str, optional
        Address of a Dask scheduler, such as "tcp://host:8786".
    slurm : str, optional
        Workers are started through SLURM: "partition=gpu,cores=8,memory=16GB,time=04:00:00", also "account=NAME".
    tls_ca, tls_cert, tls_key : Path, optional
        Files for an encrypted connection.
    wait_s : float
        How long to wait for workers, or for a scheduler that went away, seconds.

    Raises
    ------
    BadRequest
        The options contradict each other.

    Examples
    --------
    >>> ClusterChoice(scheduler="tcp://host:8786", workers=4)
    Traceback (most recent call last):
    bdis.common.bad_request.BadRequest: --workers is for this machine or --slurm; the scheduler has the workers it has
    """

    workers: int | None = None
    scheduler: str | None = None
    slurm: str | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    wait_s: float = 300.0

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.slurm is not None:
            raise BadRequest("give --scheduler or --slurm, not both")
        if self.scheduler is not None and self.workers is not None:
            raise BadRequest("--workers is for this machine or --slurm; the scheduler has the workers it has")
        if self.scheduler is not None and not re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", self.scheduler):
            raise BadRequest(f"--scheduler is {self.scheduler!r}; expected an address such as tcp://host:8786")
        if self.workers is not None and self.workers < 1:
            raise BadRequest(f"--workers is {self.workers}; expected 1 or more")
        given = [self.tls_ca, self.tls_cert, self.tls_key]
        if any(given) and not all(given):
            raise BadRequest("--tls-ca, --tls-cert and --tls-key must be given together")
        if any(given) and self.scheduler is None and self.slurm is None:
            raise BadRequest("--tls-ca, --tls-cert and --tls-key need --scheduler or --slurm")
        if self.scheduler is not None and self.scheduler.startswith("tls://") != any(given):
            raise BadRequest("--tls-ca, --tls-cert and --tls-key belong to a scheduler at tls://HOST:PORT")
        for path in given:
            if path is not None and not path.is_file():
                raise FileNotFoundError(2, "no such file", str(path))
        if self.slurm is not None:
            slurm_options(self.slurm)

    def security(self) -> Any:
        """What Dask needs for an encrypted connection; None without TLS."""
        if self.tls_ca is None:
            return None
        files = {"ca_file": self.tls_ca, "client_cert": self.tls_cert, "client_key": self.tls_key}
        files |= {f"{who}_{what}": file for who in ("scheduler", "worker")
                  for what, file in (("cert", self.tls_cert), ("key", self.tls_key))}  # fmt: skip
        texts = {f"tls_{name}": str(file.resolve()) for name, file in files.items() if file}  # jobs may be elsewhere
        security = require("distributed", PURPOSE).Security(require_encryption=True, **texts)
        try:
            security.get_connection_args("client")
        except OSError as error:  # also what is wrong in a file
            raise BadRequest(f"--tls-ca, --tls-cert and --tls-key cannot be used: {first_line(error)}") from None
        return security


def first_line(error: BaseException) -> str:
    """What an error says, without the pages that Dask adds to it.

    >>> first_line(ValueError("no answer\\nwhile connecting")), first_line(TimeoutError())
    ('no answer', 'TimeoutError')
    """
    return (str(error) or type(error).__name__).splitlines()[0]
