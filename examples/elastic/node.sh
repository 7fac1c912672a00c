#!/bin/sh
# One node of a job that goes on with fewer. On a machine that nobody takes away, once:
#
#   reprieve-trainer store --listen 10.0.0.5:29400
#
# and on each node, as often as it comes back:
#
#   STORE=10.0.0.5:29400 RUN=run-7 CHECKPOINTS=/shared/run-7 examples/elastic/node.sh
#
# NODES is the least and the most nodes (2:3), RANKS the ranks a node (8). A node that has a notice
# leaves with 75, the others save with it and go on. docs/elastic.md says what happens when.
set -eu
here=$(dirname "$0")
exec reprieve-trainer launch --nnodes="${NODES:-2:3}" --nproc-per-node="${RANKS:-8}" \
  --rdzv-backend=c10d --rdzv-endpoint="$STORE" --rdzv-id="$RUN" --rdzv-conf=is_host=0 \
  ${ADDRESS:+--local-addr="$ADDRESS"} "$here/train.py" "$CHECKPOINTS" "$@"
