"""Workers as jobs of SLURM, through dask-jobqueue."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any

from ..common.bad_request import BadRequest
from ..common.optional import require

NAMES = {"partition": "queue", "cores": "cores", "memory": "memory", "time": "walltime", "account": "account"}
NEEDED = ("cores", "memory", "time")
PURPOSE = "--slurm"
MEMORY, TIME = r"\d+(\.\d+)?([KMGT]i?)?B?", r"(\d+-)?\d+(:\d+){0,2}"


def slurm_options(text: str) -> dict[str, Any]:
    """The options of ``--slurm`` as dask-jobqueue calls them; each core gets a worker of its own.

    Parameters
    ----------
    text : str
        Such as "partition=cpu,cores=8,memory=16GB,time=04:00:00", also "account=NAME".

    Returns
    -------
    dict of str to object
        Arguments of ``dask_jobqueue.SLURMCluster``.

    Raises
    ------
    BadRequest
        A name is not known, a value could be more than a value, or something is lacking.

    Examples
    --------
    >>> slurm_options("partition=cpu,cores=8,memory=16GB,time=04:00:00")
    {'queue': 'cpu', 'cores': 8, 'memory': '16GB', 'walltime': '04:00:00', 'processes': 8}
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value or name not in NAMES:
            raise BadRequest(f"--slurm {part!r}: expected NAME=VALUE with {', '.join(NAMES)}")
        if not re.fullmatch(r"[\w.:@+-]+", value):  # it goes into a shell script
            raise BadRequest(f"--slurm {name}={value!r}: expected letters, digits and . : @ + - _ only")
        given[name] = value
    if lacking := [name for name in NEEDED if name not in given]:
        raise BadRequest(f"--slurm lacks {', '.join(lacking)}: partition=...,cores=8,memory=16GB,time=04:00:00")
    if not given["cores"].isdecimal() or int(given["cores"]) < 1:
        raise BadRequest(f"--slurm cores={given['cores']}; expected a whole number from 1")
    if not re.fullmatch(MEMORY, given["memory"], re.IGNORECASE):
        raise BadRequest(f"--slurm memory={given['memory']}; expected a size such as 16GB")
    if not re.fullmatch(TIME, given["time"]):
        raise BadRequest(f"--slurm time={given['time']}; expected hours, minutes and seconds such as 04:00:00")
    options: dict[str, Any] = {NAMES[name]: value for name, value in given.items()}
    options["cores"] = options["processes"] = int(given["cores"])
    return options


def slurm_cluster(text: str, security: Any) -> Any:
    """A cluster of dask-jobqueue: its scheduler is in this process, and its workers are jobs of SLURM.

    Parameters
    ----------
    text : str
        As in :func:`slurm_options`.
    security : distributed.Security or None
        For scheduler and jobs that speak TLS.

    Returns
    -------
    dask_jobqueue.SLURMCluster
        Without jobs; ``scale`` submits them.  Its attribute ``refused`` is a list of what SLURM says of jobs that it
        does not take.

    Raises
    ------
    ValueError
        No jobs can be submitted from this machine.
    """
    jobs = require("dask_jobqueue.slurm", PURPOSE)
    if shutil.which(jobs.SLURMJob.submit_command) is None:
        raise ValueError(
            f"--slurm: this machine has no {jobs.SLURMJob.submit_command}; give the command where jobs of SLURM are "
            "submitted, or start workers yourself and use --scheduler"
        )
    refused: list[str] = []

    class Job(jobs.SLURMJob):  # type: ignore[misc, name-defined]  # without types
        """Keeps the reason if it is refused; Dask would print it among pages of its own, and wait."""

        async def start(self) -> None:
            try:
                await super().start()
            except (OSError, RuntimeError, ValueError) as error:
                refused.append(_said(error))
                await super(jobs.Job, self).start()  # as if it ran: the cluster is closed soon

    cluster = jobs.SLURMCluster(
        n_workers=0, security=security, scheduler_options={"dashboard_address": "127.0.0.1:0"}, job_cls=Job,
        **_job_options(text, security),
    )  # fmt: skip
    cluster.refused = refused
    return cluster


def slurm_script(text: str, security: Any) -> str:
    """What SLURM gets for a job, but for the address of the scheduler, which is not started for it.

    Parameters
    ----------
    text, security
        As in :func:`slurm_cluster`.

    Returns
    -------
    str
        A shell script.
    """
    options = _job_options(text, security)
    jobs = require("dask_jobqueue.slurm", PURPOSE)
    script: str = jobs.SLURMJob(
        f"{options['protocol']}SCHEDULER:8786", "bdis", security=security, **options
    ).job_script()
    return script


def _said(error: Exception) -> str:
    """What SLURM said of a job, without what dask-jobqueue says about it.

    >>> _said(
    ...     RuntimeError("Command exited with non-zero exit code.\\nstderr:\\nsbatch: error: invalid partition\\n\\n")
    ... )
    'sbatch: error: invalid partition'
    """
    return " ".join(str(error).rpartition("stderr:\n")[2].split()) or type(error).__name__


def _job_options(text: str, security: Any) -> dict[str, Any]:
    protocol = "tcp://" if security is None else "tls://"
    return {"python": sys.executable, "protocol": protocol, **slurm_options(text)}
