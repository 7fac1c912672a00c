"""The end of a server that a bench or a test has started."""

import subprocess

_PATIENCE_S = 10.0


def end(server: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """End it: gently, and by SIGKILL where it hangs in its own shutdown.

    Without the second, one server that waits for a client that is gone holds up all that
    comes after it.
    """
    server.terminate()
    try:
        server.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
