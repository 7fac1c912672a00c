#!/bin/sh
# Takes the watcher off this machine. What trainers have saved is not touched.
set -eu

usage() {
    cat <<'EOF'
usage: uninstall.sh [--purge] [--force]

  --purge   remove the settings in /etc/reprieve too
  --force   though a notice is in force: trainers take its end for a withdrawal

The run directory stays until the next boot, as containers may have mounted it, and so do the users.

exit status: 0 it is gone, or was not there; 78 a notice is in force, or you are not root
EOF
}

purge=no force=no
for option in "$@"; do
    case $option in
        --purge) purge=yes ;;
        --force) force=yes ;;
        -h|--help) usage; exit 0 ;;
        *) usage >&2; exit 78 ;;
    esac
done
[ "$(id -u)" = 0 ] || { echo "uninstall.sh: only root can" >&2; exit 78; }
if [ -e /run/reprieve/notice.json ] && [ "$force" = no ]; then
    echo "uninstall.sh: a notice is in force on this node; --force removes its flag as well" >&2
    exit 78
fi

booted() { [ -d /run/systemd/system ]; }
units=/etc/systemd/system
watcher="reprieve-watcher.service run-reprieve-trainers.mount run-reprieve-requests.mount"
for unit in $watcher; do
    systemctl --quiet disable "$unit" 2>/dev/null || true
    ! booted || systemctl --quiet stop "$unit" 2>/dev/null || true
    rm -f "$units/$unit"
done
# Running jobs go on; without their template they are not started again.
rm -f "$units/reprieve-trainer@.service" "$units/reprieve-watcher.service.d/root.conf"
rm -f "$units/system.slice.d/reprieve.conf"
rmdir "$units/reprieve-watcher.service.d" "$units/system.slice.d" 2>/dev/null || true
rm -f /etc/sysusers.d/reprieve.conf /etc/tmpfiles.d/reprieve.conf
rm -f /etc/systemd/logind.conf.d/reprieve.conf
rm -f /run/reprieve/notice.json /run/reprieve/.notice.json.new
rm -f /run/reprieve/state.json /run/reprieve/.state.json.new
rm -rf /opt/reprieve /opt/reprieve-releases
[ "$purge" = no ] || rm -rf /etc/reprieve
! booted || systemctl daemon-reload
echo "the watcher is gone"
