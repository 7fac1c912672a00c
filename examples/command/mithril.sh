#!/bin/sh
# Mithril: a file appears when a spot bid loses its instance, and goes when the bid gets it back.
#
#   [command]
#   argv = ["/opt/reprieve/examples/command/mithril.sh"]
#   mode = "status"
#   interval_s = 1
#
# Source: Mithril documentation, "Spot bids", preemption signal (read 2026-11-30).
set -u
signal=${MITHRIL_SIGNAL:-/opt/mithril/MITHRIL_SIGNAL.yml}

test -d "$(dirname "$signal")" || { echo "no directory for $signal: is this Mithril?" >&2; exit 2; }
test -e "$signal" || exit 1

# Flat YAML, in which a value may be quoted.
value() { sed -n "s/^$1:[[:space:]]*[\"']\{0,1\}\([A-Za-z0-9_:.+-]*\).*/\1/p" "$signal" | head -n 1; }

status=$(value instance_status)
end=$(value end_time)
case $status in
  STATUS_PREEMPTING | STATUS_RELOCATING) ;;
  *) echo "instance_status is '$status' in $signal" >&2; exit 2 ;; # unknown: it may be half written
esac
# 5 minutes are the promise; window_s counts where end_time can't be read.
printf '{"kind": "preemption", "action": "%s", "deadline": "%s", "window_s": 300}\n' "$status" "$end"
