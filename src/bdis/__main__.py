"""``python -m bdis``: the ``bdis`` command, where the shell does not find it."""

from .cli import main

if __name__ == "__main__":
    main()
