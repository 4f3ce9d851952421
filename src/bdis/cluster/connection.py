"""A connection to workers: on this machine, at a scheduler that runs already, or started through SLURM."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import ipaddress
import logging
import secrets
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..common.machine import usable_cores
from ..common.optional import require
from ..common.version import __version__
from ..matching.settings import Settings
from .cluster_choice import PURPOSE, ClusterChoice, first_line
from .jobs import WORK_FOLDER
from .slurm import slurm_cluster
from .steps import warm_up, worker_facts

CONNECT_S = 10.0
# How often the parts of Dask on this machine look at themselves. As Dask has it, a worker and the command with its
# scheduler took 4 % of a core each while they waited; so it is 0.5 %. Steps take seconds, and a profile of the calls in
# them is nothing that anybody reads.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "500ms",
}


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
    refused : list of str
        Why jobs of SLURM could not be submitted.
    """

    def __init__(self, client: Any, cluster: Any = None):
        self.client, self._cluster = client, cluster
        self.warnings: list[str] = []
        self.refused: list[str] = getattr(cluster, "refused", [])
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
        cluster = slurm_cluster(choice.slurm, choice.security())
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
    workers = choice.workers or usable_cores()
    # Fewer workers than cores leave cores to others, and the system knows which are free.
    preload = ["bdis.cluster.own_core"] if workers >= usable_cores() else []
    # Only this machine can reach it. One thread each: a match uses one core, and Python's lock is its own.
    with _without_interrupts(), require("dask", PURPOSE).config.set(QUIET):
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", preload=preload,
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
            f"no Dask scheduler answers at {choice.scheduler} within {CONNECT_S:g} s: {first_line(error)}"
        ) from None
    except Exception as error:  # one that speaks another version of the protocol, or another protocol
        raise ConnectionError(
            f"{choice.scheduler} is not a scheduler that this Dask can use: {first_line(error)}"
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
            f"the scheduler or a worker went away ({first_line(error)}); the same command begins again"
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
        There are none, SLURM does not take them, or one has no bdis, another version of it or of Dask, or does not see
        the folder.
    """
    client = connection.client
    own = {name: importlib.metadata.version(name) for name in ("dask", "distributed")}
    with _answering():
        _check_versions("the scheduler", client.get_versions()["scheduler"], own)
    end = time.monotonic() + wait_s
    while not connection.threads():
        if connection.refused:
            raise ValueError(f"SLURM does not take the jobs: {connection.refused[0]}")
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
            raise ValueError(f"worker {address} cannot import bdis: {first_line(fact)}")
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
            raise ValueError(f"worker {address} cannot load the kernels: {first_line(answer)}")
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
        return [f"it is not known who can reach the scheduler: {first_line(error)}"]
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
