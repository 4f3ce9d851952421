"""A connection to workers: on this machine, at a scheduler that runs already, or started through SLURM."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import ipaddress
import logging
import re
import secrets
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.bad_request import BadRequest
from ..common.machine import usable_cores
from ..common.optional import require
from ..common.version import __version__
from ..matching.settings import Settings
from .jobs import WORK_FOLDER
from .steps import warm_up, worker_facts

PURPOSE = "bdis batch"
CONNECT_S = 10.0
SLURM_NAMES = {"partition": "queue", "cores": "cores", "memory": "memory", "time": "walltime", "account": "account"}
SLURM_NEEDS = ("cores", "memory", "time")


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
            self.slurm_options()

    def slurm_options(self) -> dict[str, Any]:
        """The options of ``--slurm`` as dask-jobqueue calls them; each core gets a worker of its own."""
        given: dict[str, str] = {}
        for part in (self.slurm or "").split(","):
            name, equals, value = (text.strip() for text in part.partition("="))
            if not equals or not value or name not in SLURM_NAMES:
                raise BadRequest(f"--slurm {part!r}: expected NAME=VALUE with {', '.join(SLURM_NAMES)}")
            if not re.fullmatch(r"[\w.:@+-]+", value):  # it goes into a shell script
                raise BadRequest(f"--slurm {name}={value!r}: expected letters, digits and . : @ + - _ only")
            given[name] = value
        if lacking := [name for name in SLURM_NEEDS if name not in given]:
            raise BadRequest(f"--slurm lacks {', '.join(lacking)}: partition=...,cores=8,memory=16GB,time=04:00:00")
        if not given["cores"].isdecimal() or int(given["cores"]) < 1:
            raise BadRequest(f"--slurm cores={given['cores']}; expected a whole number from 1")
        options: dict[str, Any] = {SLURM_NAMES[name]: value for name, value in given.items()}
        options["cores"] = options["processes"] = int(given["cores"])
        return options

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
            raise BadRequest(f"--tls-ca, --tls-cert and --tls-key cannot be used: {_first_line(error)}") from None
        return security


class Connection:
    """A client with its workers.

    Attributes
    ----------
    client : distributed.Client
        Of Dask.
    dashboard : str or None
        Address of Dask's page about the work; None if there is none.
    warnings : list of str
        What the user should know about the connection.
    """

    def __init__(self, client: Any, cluster: Any = None):
        self.client, self._cluster = client, cluster
        self.warnings: list[str] = []
        self.dashboard = _dashboard(client)

    def threads(self) -> dict[str, int]:
        """Threads, which is how many steps run at a time, by address of the worker; none if nobody answers."""
        if self.client.status != "running":
            return {}
        try:
            found: dict[str, int] = self.client.nthreads()
        except Exception:  # it is going away; Dask raises many kinds
            return {}
        return found

    def close(self) -> None:
        """Close the client, and the cluster if it was started for it."""
        with contextlib.suppress(Exception):  # of a scheduler that is gone; there is nothing to be done about it
            self.client.close(timeout=5)
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=5)


@contextlib.contextmanager
def connected(choice: ClusterChoice) -> Iterator[Connection]:
    """Connect to the workers of a choice; workers that were started for it end with it.

    Raises
    ------
    OSError
        The scheduler does not answer.
    ImportError
        Dask is not installed.
    """
    connection = connect(choice)
    try:
        yield connection
    finally:
        connection.close()


def connect(choice: ClusterChoice) -> Connection:
    """As :func:`connected`; close the connection."""
    distributed = require("distributed", PURPOSE)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told by who called
    warnings.filterwarnings("ignore", category=require("distributed.versions", PURPOSE).VersionMismatchWarning)  # too
    if choice.scheduler is not None:
        return _join(choice)
    if choice.slurm is not None:
        cluster = slurm_cluster(choice)
        cluster.scale(jobs=choice.workers or 1)
    else:
        cluster = _local_cluster(choice)
    try:
        connection = Connection(distributed.Client(cluster, timeout=CONNECT_S, set_as_default=False), cluster)
        if choice.slurm is not None:
            connection.warnings += _exposure(connection.client)
        return connection
    except BaseException:
        cluster.close(timeout=5)
        raise


def _local_cluster(choice: ClusterChoice) -> Any:
    distributed = require("distributed", PURPOSE)
    # Only this machine can reach it. One thread each: a match uses one core, and Python's lock is its own.
    with _without_interrupts():
        return distributed.LocalCluster(
            n_workers=choice.workers or usable_cores(), threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
            env={"DASK_LOGGING__DISTRIBUTED": "critical"},
        )  # fmt: skip


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Context manager: processes that are started in it ignore Ctrl-C, which a terminal sends to all of them."""
    if threading.current_thread() is not threading.main_thread():  # no other may change it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def slurm_cluster(choice: ClusterChoice) -> Any:
    """A cluster of dask-jobqueue: its scheduler is in this process, and its workers are jobs of SLURM."""
    return require("dask_jobqueue", "--slurm").SLURMCluster(
        n_workers=0, security=choice.security(), scheduler_options={"dashboard_address": "127.0.0.1:0"},
        **_job_options(choice),
    )  # fmt: skip


def slurm_script(choice: ClusterChoice) -> str:
    """What SLURM gets for a job, but for the address of the scheduler, which is not started for it."""
    jobs = require("dask_jobqueue.slurm", "--slurm")
    script: str = jobs.SLURMJob(
        f"{_job_options(choice)['protocol']}SCHEDULER:8786", "bdis", security=choice.security(), **_job_options(choice)
    ).job_script()
    return script


def _job_options(choice: ClusterChoice) -> dict[str, Any]:
    protocol = "tcp://" if choice.tls_ca is None else "tls://"
    return {"python": sys.executable, "protocol": protocol, **choice.slurm_options()}


def _join(choice: ClusterChoice) -> Connection:
    """Connect to a scheduler that runs already."""
    distributed = require("distributed", PURPOSE)
    security = choice.security()
    try:
        asyncio.run(_greet(choice.scheduler or "", security))
        client = distributed.Client(choice.scheduler, timeout=CONNECT_S, security=security, set_as_default=False)
    except TimeoutError:
        raise ConnectionError(
            f"no Dask scheduler answers at {choice.scheduler} within {CONNECT_S:g} s; is that the port of its page?"
        ) from None
    except OSError as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {choice.scheduler} within {CONNECT_S:g} s: {_first_line(error)}"
        ) from None
    except Exception as error:  # one that speaks another version of the protocol, or another protocol
        raise ConnectionError(
            f"{choice.scheduler} is not a scheduler that this Dask can use: {_first_line(error)}"
        ) from None
    connection = Connection(client)
    connection.warnings += _exposure(client)
    return connection


async def _greet(address: str, security: Any) -> None:
    """Shake hands with a scheduler.  Dask itself would wait for ever for one that is none, such as a web server."""
    comm = require("distributed.comm", PURPOSE)
    security = security or require("distributed", PURPOSE).Security()
    connecting = comm.connect(address, timeout=CONNECT_S, **security.get_connection_args("client"))
    await (await asyncio.wait_for(connecting, CONNECT_S + 1)).close()  # a refusal within CONNECT_S is Dask's to tell


class ConnectionLost(ConnectionError):
    """The scheduler or all workers have gone, and did not come back in time."""


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Context manager in which questions to the workers are asked; Dask has many words for no answer."""
    try:
        yield
    except (OSError, TimeoutError, require("distributed", PURPOSE).CancelledError) as error:
        raise ConnectionLost(
            f"the scheduler or a worker went away ({_first_line(error)}); the same command begins again"
        ) from None


def check_workers(connection: Connection, out: Path, wait_s: float) -> None:
    """Check all workers before any work starts.

    Parameters
    ----------
    connection : Connection
        To the workers.
    out : Path
        Folder of the batch, which every worker must see.
    wait_s : float
        How long to wait for the first worker.

    Raises
    ------
    ValueError
        There are none, or one has no bdis, another version of it or of Dask, or does not see the folder.
    """
    client = connection.client
    own = {name: importlib.metadata.version(name) for name in ("dask", "distributed")}
    with _answering():
        _check_versions("the scheduler", client.get_versions()["scheduler"], own)
    end = time.monotonic() + wait_s
    while not connection.threads():
        if time.monotonic() > end:
            raise ValueError(f"the scheduler has no workers after {wait_s:g} s; start some, or wait longer with --wait")
        time.sleep(0.2)
    with _answering():
        versions = client.get_versions()
    for address, found in versions["workers"].items():
        _check_versions(f"worker {address}", found, own)
    # A function of Python's own: it can be called on a worker that has no bdis.
    with _answering():
        found = client.run(importlib.metadata.version, "bdis", on_error="return")
    for address, version in _present(found):
        if isinstance(version, Exception):
            raise ValueError(
                f"worker {address} has no bdis: install bdis {__version__} there, with its extra 'cluster' as here"
            )
    token = out / WORK_FOLDER / f"visible-{secrets.token_hex(8)}"
    token.touch()
    try:
        with _answering():
            facts = client.run(worker_facts, str(token), on_error="return")
    finally:
        token.unlink(missing_ok=True)
    for address, fact in _present(facts):
        if isinstance(fact, Exception):
            raise ValueError(f"worker {address} cannot import bdis: {_first_line(fact)}")
        if fact["bdis"] != __version__:
            raise ValueError(
                f"worker {address} has bdis {fact['bdis']}, here it is {__version__}: they must be the same"
            )
        if not fact["sees"]:
            raise ValueError(
                f"worker {address} on {fact['host']} does not see {out}: sources and results must be on a file system "
                "that all machines share, under the same path"
            )


def compile_kernels(connection: Connection, settings: Settings) -> list[str]:
    """Compile the kernels once on every machine; names of the machines are returned."""
    with _answering():
        answers = connection.client.run(warm_up, settings, on_error="return")
    for address, answer in _present(answers):
        if isinstance(answer, Exception):
            raise ValueError(f"worker {address} cannot load the kernels: {_first_line(answer)}")
    return sorted({answer for _, answer in _present(answers)})


def _present(answers: dict[str, Any]) -> list[tuple[str, Any]]:
    """The answers by worker, without those of workers that went away meanwhile, as workers do."""
    return [(address, answer) for address, answer in answers.items() if not isinstance(answer, (OSError, TimeoutError))]


def _check_versions(who: str, found: dict[str, Any], own: dict[str, str]) -> None:
    packages = (found or {}).get("packages", {})
    for name, version in own.items():
        if packages.get(name) != version:
            raise ValueError(f"{who} has {name} {packages.get(name)}, here it is {version}: they must be the same")


def _exposure(client: Any) -> list[str]:
    """A warning if others in the network could use the scheduler: whoever reaches it can run any program with it."""

    def listening(dask_scheduler: Any) -> list[str]:
        return [listener.listen_address for listener in dask_scheduler.listeners]

    try:
        addresses = client.run_on_scheduler(listening)
    except Exception as error:
        return [f"it is not known who can reach the scheduler: {_first_line(error)}"]
    return [
        f"the scheduler listens on {address} without TLS: whoever reaches it can run programs on all workers; use it "
        "only in a network that you trust, or with --tls-ca, --tls-cert and --tls-key"
        for address in addresses
        if address.startswith("tcp://") and not _is_loopback(address)
    ]


def _dashboard(client: Any) -> str | None:
    """Address of the scheduler's page about the work; None if it has none, as without bokeh."""

    def has_page(dask_scheduler: Any) -> bool:
        return importlib.util.find_spec("bokeh") is not None and "dashboard" in dask_scheduler.services

    with contextlib.suppress(Exception):  # a page is not worth an error
        if client.run_on_scheduler(has_page):
            address: str | None = client.dashboard_link
            return address
    return None


def _is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address.

    >>> _is_loopback("tcp://127.0.0.1:8786"), _is_loopback("tcp://0.0.0.0:8786"), _is_loopback("tcp://node7:8786")
    (True, False, False)
    """
    host = host_of(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(address: str) -> str:
    """
    >>> host_of("tcp://127.0.0.1:8786"), host_of("tls://[::1]:8786")
    ('127.0.0.1', '::1')
    """
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
