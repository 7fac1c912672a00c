#!/bin/sh
# A job whose checkpoints are in a bucket: the node's disk may go with the node. Start it, and start
# it again with the same command line as often as you like:
#
#   BUCKET=my-bucket RUN=run-7 examples/s3/train.sh --steps 300
#
# Credentials and region are found as by any tool of AWS: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
# and AWS_REGION, or the instance's role. A server of your own: AWS_ENDPOINT, and AWS_ALLOW_HTTP=true
# where it speaks no TLS. gs:// and az:// go alike (docs/checkpoints.md). Needs the extra [stores].
set -eu
here=$(dirname "$0")
exec reprieve-trainer launch --nproc-per-node="${RANKS:-2}" "$here/../train_gpt.py" \
  --checkpoint-dir "s3://$BUCKET/$RUN" "$@"
