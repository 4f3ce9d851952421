"""A scheduler and workers of Dask as real processes, which tests may kill."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

from tests.cli.commands import COMMAND

SCHEDULER, WORKER = (f"distributed.cli.dask_{kind}" for kind in ("scheduler", "worker"))


class Processes:
    """Context manager: a scheduler and workers on this machine; those that have ended are started again by `mend`."""

    def __init__(self, workers, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._folder, self._log = folder, open(folder / "dask.log", "wb")  # noqa: SIM115
        self.scheduler = None
        self.workers = [None] * workers

    def __enter__(self):
        self.mend()
        return self

    def __exit__(self, *error):
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()
        self._log.close()

    def mend(self):
        """Start the scheduler and the workers that do not run."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            host, port = self.address.removeprefix("tcp://").split(":")
            self.scheduler = self._start(SCHEDULER, "--host", host, "--port", port)
        for number, worker in enumerate(self.workers):
            if worker is None or worker.poll() is not None:
                place = self._folder / f"worker{number}"
                self.workers[number] = self._start(
                    WORKER, self.address, "--nthreads", "1", "--no-nanny", "--death-timeout", "120",
                    "--local-directory", place,
                )  # fmt: skip

    def _start(self, module, *arguments):
        command = [sys.executable, "-m", module, "--no-dashboard", *map(str, arguments)]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log)


def start_command(*arguments):
    """``bdis ...`` in a process group of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def kill(process):
    """SIGKILL, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
