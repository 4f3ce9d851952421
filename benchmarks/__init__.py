"""Speed and accuracy of the matcher beside other methods.

``python -m benchmarks`` measures everything that BENCHMARK.md shows; ``--quick`` takes fewer rounds, ``--sections``
measures some of its tables only.

``python -m benchmarks.hashes write FILE`` and ``python -m benchmarks.hashes compare FILE`` show whether a change of the
code leaves the results of the matcher the same, bit by bit.

Data sets, methods and metrics are those of :mod:`bdis.evaluation`; of the matcher only the public interface is used.
"""
