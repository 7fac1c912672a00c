"""``python -m watcher`` is ``reprieve-watcher``."""

from watcher.cli import main

if __name__ == "__main__":
    main()
