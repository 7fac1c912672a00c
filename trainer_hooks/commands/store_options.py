"""The command line of ``reprieve-trainer store``; it needs nothing that is not installed."""

import argparse
import ipaddress

_ABOUT = """\
Hold the rendezvous of a job, on a machine that nobody takes away. Without it the node that
--rdzv-endpoint names holds it, and when that one goes the whole job ends, with 75 or 76.

Once it can be reached it prints a line, on which scripts may wait; it ends with 0 on SIGTERM:

  reprieve-trainer store --listen 10.0.0.5:29400
  ready listen=10.0.0.5:29400

On each node of the job, whether it comes early or late:

  reprieve-trainer launch --nnodes=2:3 --nproc-per-node=8 --rdzv-id=run-7 \\
      --rdzv-backend=c10d --rdzv-endpoint=10.0.0.5:29400 --rdzv-conf=is_host=0 train.py

One store serves several jobs, told apart by --rdzv-id, and the same job when it is started again.
It keeps nothing on disk. If it ends, the jobs save and end with 75: start it and them again.

Whoever can reach it can run programs on every node of the job: neither it nor torchrun, which
takes Python objects from it, asks who is there. Listen on an address of a private network only.
"""


def add_store(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    store = commands.add_parser(
        "store",
        help="hold the rendezvous of a job that outlives any of its nodes",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    store.add_argument(
        "--listen",
        type=_address,
        required=True,
        metavar="ADDRESS:PORT",
        help="an IP address of this machine and a port, 0 for any that is free",
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        number = int(port)
    except ValueError:
        address, number = None, -1
    if address is None or not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no ADDRESS:PORT such as 10.0.0.5:29400 or [fd00::5]:29400"
        )
    return str(address), number
