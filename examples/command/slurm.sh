#!/bin/sh
# Slurm: a job on this node is preempted with a GraceTime, or comes near its time limit.
#
#   [command]
#   argv = ["/opt/reprieve/examples/command/slurm.sh"]
#   mode = "status"
#   interval_s = 5
#
# A preemption moves the job's EndTime to now + GraceTime; with GraceTime = 0 there is nothing to
# hear. A notice is in force while a job on this node ends in less than SLURM_LEAD_S. Which jobs are
# here is asked of the node itself; then it is one call of slurmctld for each of them.
# Source: Slurm, "Preemption"; scontrol(1), listpids and SLURM_TIME_FORMAT (both read 2026-11-30).
set -u
lead_s=${SLURM_LEAD_S:-120}

listed=$(scontrol listpids 2>&1) || case $listed in
  *"No job steps exist"*) exit 1 ;;
  *) echo "scontrol listpids: $listed" >&2; exit 2 ;;
esac
jobs=$(printf '%s\n' "$listed" | awk 'NR > 1 && $2 ~ /^[0-9]+$/ { print $2 }' | sort -u)

now=$(date +%s)
first='' job=''
for id in $jobs; do
  shown=$(SLURM_TIME_FORMAT=%s scontrol --oneliner show job "$id") || exit 2
  end=$(printf '%s\n' "$shown" | sed -n 's/.* EndTime=\([0-9][0-9]*\) .*/\1/p')
  test -n "$end" || continue # Unknown: a job without a limit
  if test "$((end - now))" -lt "$lead_s" && test "$end" -lt "${first:-9999999999}"; then
    first=$end job=$id
  fi
done
test -n "$first" || exit 1
deadline=$(date -u -d "@$first" +%Y-%m-%dT%H:%M:%SZ) || exit 2
printf '{"id": "job-%s", "kind": "preemption", "deadline": "%s"}\n' "$job" "$deadline"
