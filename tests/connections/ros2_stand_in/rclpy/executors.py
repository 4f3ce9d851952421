"""The executor that the node uses."""

import queue

from . import GRAPH


class SingleThreadedExecutor:
    def add_node(self, node):
        pass

    def spin_once(self, timeout_sec=None):
        try:
            callback, data = GRAPH.work.get(timeout=timeout_sec)
        except queue.Empty:
            return
        callback(data)
