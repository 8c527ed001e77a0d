# shellcheck shell=bash
# Functions of scripts that hold three ways to one directory against each other, all of them over RDMA for the kernel's client: to smbd-serve
# with RDMA in its own process, to smbd-serve on smbd-broker, and through smbd-gateway to smbd-serve over TCP. Needs lib.sh, a device, and
# the programs in $PROGRAMS. The client looks for SMB Direct at port 5445 first, so each way has an address.

# says TEXT FILE    until a program says so in its log
says() { grep -aq -- "$1" "$2"; }

# starts NAME TEXT PROGRAM ...    a program that has said TEXT; PID is its process
starts() {
  local log=$OUT/$1.log text=$2
  shift 2
  "$@" >"$log" 2>&1 &
  PID=$!
  await "$patience" says "$text" "$log"
}

# mounted ADDRESS FOLDER    mounts the share there
mounted() { mount_uncached "//$1/share" "$2" rdma; }

# serve NAME OPTION ...    smbd-serve of /run/numbers, which is in the guest's memory
serve() {
  mkdir -p /run/numbers && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  starts "$1" 'INFO attached\|INFO listening' "$PROGRAMS/smbd-serve" /run/numbers --users /run/users "${@:2}"
}

# in_process    at /mnt/serve; SERVE_PID is its process
in_process() {
  serve serve --listen "rdma:$ADDRESS:5445" && SERVE_PID=$PID && mounted "$ADDRESS" /mnt/serve
}

# on_broker [PROGRAM ...]    at /mnt/broker; BROKER_PID is the process of the broker, which PROGRAM starts, and OWNER_PID that of its server
on_broker() {
  [ -n "$(ip address show to 10.9.0.2)" ] || ip address add 10.9.0.2/24 dev "$NETDEV" || return
  rm -f /run/broker
  starts broker 'over=rdma' "$@" "$PROGRAMS/smbd-broker" run --listen 10.9.0.2:5445 --socket /run/broker || return
  BROKER_PID=$PID
  serve owner --broker /run/broker && OWNER_PID=$PID && mounted 10.9.0.2 /mnt/broker
}

# behind_gateway    at /mnt/gateway-serve
behind_gateway() {
  ip address add 10.9.0.3/24 dev "$NETDEV" && serve tcp --listen tcp:127.0.0.1:4455 &&
    starts gateway 'INFO listening' "$PROGRAMS/smbd-gateway" run --status-socket '' --listen 10.9.0.3:5445 --server 127.0.0.1:4455 &&
    mounted 10.9.0.3 /mnt/gateway-serve
}

three_ways() { in_process && on_broker && behind_gateway; }

# went_by_rdma    unmounts all ways; whether data have gone by RDMA on each, as its server says
went_by_rdma() {
  umount /mnt/serve /mnt/broker /mnt/gateway-serve || return
  await "$patience" says 'INFO client ended .* over=rdma .* rdma_out=[1-9]' "$OUT/serve.log" &&
    await "$patience" says 'INFO client ended .* over=broker .* rdma_out=[1-9]' "$OUT/owner.log" &&
    await "$patience" says 'client session .*session=rdma' "$OUT/gateway.log"
}
