#!/bin/bash
#SBATCH --job-name=run-7
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
# The same job, with the same number and output, starts again after a preemption.
#SBATCH --requeue
#SBATCH --open-mode=append
# Before the time limit: to the steps, and up to 60 s earlier than asked.
#SBATCH --signal=TERM@120
# A preemption sends SIGTERM to the steps and needs a GraceTime of the partition or QOS of 120 s.
#
# Source: sbatch(1), srun(1), scontrol(1) and "Preemption" of Slurm (read 2026-11-30).
set -u

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export head

# One launcher a node. The first that ends must not kill the others: they end with the same step.
srun --kill-on-bad-exit=0 sh -c '
  exec reprieve-trainer launch --window=120 --nnodes=4 --nproc-per-node=8 \
    --node-rank="$SLURM_NODEID" --master-addr="$head" --master-port=29500 "$@"
' sh train.py --checkpoint-dir /checkpoints/run-7 &
step=$!

# Slurm tells the steps by itself. Who tells the batch script only (scancel --batch, a site's own
# settings) reaches them through srun, which hands signals on; a second one changes nothing.
trap 'kill -TERM "$step" 2> /dev/null' TERM USR1 USR2

# A signal ends a wait, not the step.
until wait "$step"; code=$?; ! kill -0 "$step" 2> /dev/null; do :; done
wait "$step" # once more: the step may have ended just after a signal
code=$?

case $code in
  75 | 76)
    # Preempted, or a peer was lost: the same job again. Slurm ends this one when it takes it back.
    echo "exit code $code after ${SLURM_RESTART_COUNT:-0} restarts: requeueing"
    scontrol requeue "$SLURM_JOB_ID" || echo "not requeued: has it been cancelled?"
    ;;
esac
exit "$code"
