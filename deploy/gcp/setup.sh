#!/usr/bin/env bash
# Tells Google Cloud what Reprieve needs of it: see README.md beside this file, or `setup.sh --help`.
# Each command may be repeated: what is there is set right, what is missing is made.
set -euo pipefail

usage() {
  cat <<'USAGE'
setup.sh COMMAND --project PROJECT [--name NAME] [--member MEMBER] [--dry-run]

  log                 topic, log sink, and the sink's right to publish
  relay               the relays' subscription, and what MEMBER may do: read it, list VMs
  nodes               what MEMBER may do on every node: read its own instance
  node INSTANCE_ID    a subscription for one VM, which MEMBER may read
  forget INSTANCE_ID  delete that subscription

NAME (reprieve) begins every name; MEMBER is serviceAccount:... as IAM writes it.
--dry-run prints the commands that would change something.

example: setup.sh log --project my-proj && \
  setup.sh relay --project my-proj --member serviceAccount:relay@my-proj.iam.gserviceaccount.com
USAGE
}

fail() {
  echo "setup.sh: $1" >&2
  exit 64
}

command="" instance="" project="" name="reprieve" member="" dry_run=""
while (($#)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --project) project="${2:-}"; shift 2 || fail "--project needs a value" ;;
    --name) name="${2:-}"; shift 2 || fail "--name needs a value" ;;
    --member) member="${2:-}"; shift 2 || fail "--member needs a value" ;;
    --dry-run) dry_run=yes; shift ;;
    -*) fail "unknown option $1" ;;
    *)
      if [[ -z $command ]]; then command="$1"
      elif [[ -z $instance ]]; then instance="$1"
      else fail "one word too many: $1"; fi
      shift ;;
  esac
done

[[ -n $project ]] || fail "--project is missing"
[[ $name =~ ^[a-z][a-z0-9-]{2,39}$ ]] || fail "--name: small letters, digits, hyphens; 3 to 40"

change() {
  if [[ -n $dry_run ]]; then
    printf 'gcloud'; printf ' %q' "$@"; echo
  else
    gcloud "$@" --quiet >/dev/null
  fi
}

is_there() { gcloud "$@" --project="$project" --quiet >/dev/null 2>&1; }

need_member() {
  [[ $member == serviceAccount:*@* ]] || fail "--member serviceAccount:NAME@... is missing"
}

# A custom role with nothing but these permissions. A role's id has no hyphens.
role() { # ID TITLE PERMISSIONS
  local verb=update
  is_there iam roles describe "$1" || verb=create
  change iam roles "$verb" "$1" --project="$project" --title="$2" --permissions="$3" --stage=GA
}

reader_role() { echo "${name//-/_}_reader"; }

may_read() { # SUBSCRIPTION
  role "$(reader_role)" "Reprieve: read a subscription" pubsub.subscriptions.consume
  change pubsub subscriptions add-iam-policy-binding "$1" --project="$project" \
    --member="$member" --role="projects/$project/roles/$(reader_role)"
}

may() { # ROLE; on the whole project, because Compute Engine's lists can't be given for less
  change projects add-iam-policy-binding "$project" --member="$member" \
    --role="projects/$project/roles/$1" --condition=None
}

subscription() { # ID OPTIONS...
  local id="$1" verb=update topic=()
  shift
  if ! is_there pubsub subscriptions describe "$id"; then
    verb=create
    topic=(--topic="$name")
  fi
  change pubsub subscriptions "$verb" "$id" --project="$project" "${topic[@]}" "$@"
}

# System events can't be switched off and cost nothing. The methods are those of METHODS in
# watcher/sources/gcp_entry.py, exactly: every entry that is let through is a notice.
filter="logName=\"projects/$project/logs/cloudaudit.googleapis.com%2Fsystem_event\"
 AND resource.type=\"gce_instance\"
 AND protoPayload.serviceName=\"compute.googleapis.com\"
 AND protoPayload.methodName=(\"compute.instances.preempted\"
 OR \"compute.instances.terminateOnHostMaintenance\"
 OR \"compute.instances.migrateOnHostMaintenance\")"

log() {
  local verb=update writer
  is_there pubsub topics describe "$name" || change pubsub topics create "$name" --project="$project"
  is_there logging sinks describe "$name" || verb=create
  change logging sinks "$verb" "$name" "pubsub.googleapis.com/projects/$project/topics/$name" \
    --project="$project" --log-filter="$filter" \
    --description="Ends of VMs, for Reprieve"
  if [[ -n $dry_run && $verb == create ]]; then
    writer="serviceAccount:THE-SINKS-OWN"
  else
    writer="$(gcloud logging sinks describe "$name" --project="$project" --format='value(writerIdentity)')"
    [[ -n $writer ]] || fail "the sink $name has no writer identity"
  fi
  change pubsub topics add-iam-policy-binding "$name" --project="$project" \
    --member="$writer" --role=roles/pubsub.publisher
}

relay() {
  need_member
  # An older notice is worth nothing; 10 min is the least. It has to outlive weekends without one.
  subscription "$name-relay" --ack-deadline=10 --message-retention-duration=10m \
    --expiration-period=never
  may_read "$name-relay"
  role "${name//-/_}_relay" "Reprieve: look at a fleet" \
    compute.instances.list,compute.zoneOperations.list
  may "${name//-/_}_relay"
}

nodes() {
  need_member
  role "${name//-/_}_node" "Reprieve: look at an instance" compute.instances.get
  may "${name//-/_}_node"
}

node() {
  need_member
  # What is about other VMs is left unacknowledged, so it comes again less and less often. A day
  # without its VM, which is the least, and the subscription is gone by itself.
  subscription "$name-node-$instance" --ack-deadline=10 --message-retention-duration=10m \
    --expiration-period=24h --min-retry-delay=10s --max-retry-delay=600s
  may_read "$name-node-$instance"
}

forget() {
  if is_there pubsub subscriptions describe "$name-node-$instance"; then
    change pubsub subscriptions delete "$name-node-$instance" --project="$project"
  fi
}

case "$command" in
  log | relay | nodes)
    [[ -z $instance ]] || fail "one word too many: $instance" ;;
  node | forget)
    [[ $instance =~ ^[0-9]{1,20}$ ]] || fail "$command needs the VM's number, INSTANCE_ID" ;;
  *)
    usage >&2
    fail "no such command: ${command:-(none)}" ;;
esac
"$command"
