"""What ``reprieve-trainer plan --help`` teaches."""

HELP = """\
How often should a job save, what do interruptions cost it, and is spot worth it?

Four times decide that. All are of the job as a whole, in seconds:

  C  --stall       How long training stands still for a save. Saved synchronously that is the whole
                   save; with an asynchronous one only the copy to the host's memory.
  D  --commit-lag  From the end of the stall until the save is committed, in the background. An
                   interruption before that loses the save. Synchronous saves have none.
  R  --restart     Paid time from an interruption to the first new step: noticing it, a new node,
                   the image, the rendezvous, loading the checkpoint, warming up.
  M  --job-mtbi    Mean running time between interruptions of the job: whichever node they strike,
                   all stand still. Nodes that last H hours each make M = H / nodes: 64 nodes of
                   40 h are interrupted every 37.5 min (--nodes 64 --node-mtbi-hours 40). Better:
                   count how often the *job* went down. Clouds take nodes in bursts, so counting
                   lost nodes makes M look up to 11 times too short.

Save often, and C is paid often. Save rarely, and each interruption throws away more: rework. In
between lies the best interval, about sqrt(2 C M); R does not move it, and is paid every time. So:

  slowdown          paid hours for each hour that lasts. Cost is productive hours x this x price.
  wasted fraction   1 - 1/slowdown, the part of the paid hours that does not last
  split             where paid time goes: productive, save (C), rework, restart (R), waiting
"""

EXAMPLES = """\
examples:
  # 64 nodes of 8 GPUs, each taken back every 40 h; saves stall 8 s, a restart takes 5 min
  reprieve-trainer plan --nodes 64 --node-mtbi-hours 40 --stall 8 --restart 300 \\
      --productive-gpu-hours 100000 --on-demand-price 4.00 --spot-price 1.60

  # the same with what the storage has to bear, and a picture
  ... --state-bytes 0.98e12 --commit-lag 25 --plot plan.png

  # what a pool has really done: M, bursts and capacity from its trace
  reprieve-trainer plan --trace pool.csv --stall 8 --restart 300

  # what a run of yours has measured, all of the four
  reprieve-trainer plan --ledger /shared/run-7

Prices are in any currency. Whatever is assumed, and not given or measured, is marked as such.
"""
