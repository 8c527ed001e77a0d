# shellcheck shell=bash
# Servers and clients that are measured, for the scripts of this folder: each way to a share has an address, at which the kernel's client
# looks for SMB Direct at the port of the device's kind. They need lib.sh, a device (`rdma_loopback`), and the programs in $PROGRAMS. What is
# served is in the guest's memory.

NUMBERS=/run/numbers

# says TEXT FILE    until a program says so in its log
says() { grep -aq -- "$1" "$2"; }

# starts NAME TEXT PROGRAM ...    a program that has said TEXT; PID is its process
starts() {
  local log=$OUT/$1.log text=$2
  shift 2
  # What one of this name said before counts no more.
  : >"$log"
  "$@" >"$log" 2>&1 &
  PID=$!
  await "$patience" says "$text" "$log"
}

# ends PID ...    a program, which may be below the one that measures it: strace lets no signal end it, but goes with its program
ends() {
  local pid
  for pid; do kill "$(pgrep -P "$pid" || echo "$pid")" && wait "$pid"; done
}

# address HOST    one more address of the device
address() { [ -n "$(ip address show to "$1")" ] || ip address add "$1/24" dev "$NETDEV"; }

# mounted FOLDER ADDRESS SHARE    the kernel's client mounts it over RDMA
mounted() { mount_uncached "//$2/$3" "$1" rdma; }

# samba    at 127.0.0.1:4455, with the share `numbers`
samba() {
  mkdir -p "$NUMBERS" && chmod 777 "$NUMBERS" &&
    SAMBA_PORT=4455 samba_start '[numbers]' "path = $NUMBERS" 'read only = no'
}

# gateway NAME HOST SERVER [PROGRAM ...]    a gateway at HOST, which PROGRAM starts; PID is its process
gateway() {
  address "$2" && starts "$1" 'INFO listening' "${@:4}" "$PROGRAMS/smbd-gateway" run --status-socket '' --listen "$2:$(ksmbd_port)" --server "$3"
}

# serve NAME OPTION ... [-- PROGRAM ...]    smbd-serve of $NUMBERS
serve() {
  local name=$1 options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
  mkdir -p "$NUMBERS" && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  starts "$name" 'INFO attached\|INFO listening' "${@:2}" "$PROGRAMS/smbd-serve" "$NUMBERS" --users /run/users "${options[@]}"
}

# in_process [PROGRAM ...]    smbd-serve with RDMA in its own process, at /mnt/serve; SERVE_PID is its process
in_process() {
  serve serve --listen "rdma:$ADDRESS:$(ksmbd_port)" -- "$@" && SERVE_PID=$PID && mounted /mnt/serve "$ADDRESS" share
}

# broker [PROGRAM ...], owner [PROGRAM ...]    smbd-broker, which PROGRAM starts, and smbd-serve on it, at /mnt/broker
broker() {
  rm -f /run/broker
  address 10.9.0.2 && starts broker 'over=rdma' "$@" "$PROGRAMS/smbd-broker" run --listen "10.9.0.2:$(ksmbd_port)" --socket /run/broker && BROKER_PID=$PID
}
owner() { serve owner --broker /run/broker -- "$@" && OWNER_PID=$PID && mounted /mnt/broker 10.9.0.2 share; }

# behind_gateway    smbd-serve over TCP with a gateway before it, at /mnt/gateway-serve
behind_gateway() {
  serve tcp --listen tcp:127.0.0.1:4456 && gateway gateway 10.9.0.3 127.0.0.1:4456 && mounted /mnt/gateway-serve 10.9.0.3 share
}

# numbers NAME=WAY ...    measures these ways in turn
numbers() {
  local status
  "$PROGRAMS/smbd-live" numbers --address "$ADDRESS" --output "$OUT/numbers.json" --kind "$KIND" --rounds "$ROUNDS" \
    --seconds "$SECONDS_EACH" --sizes "$SIZES" --at-once "$AT_ONCE" "$@" 2>&1 | cat
  status=${PIPESTATUS[0]}
  cp /proc/fs/cifs/DebugData "$OUT/DebugData"
  return "$status"
}
