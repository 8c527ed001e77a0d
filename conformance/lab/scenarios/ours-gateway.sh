# shellcheck shell=bash
about="the kernel's client reaches a server of SMB over TCP through smbd-gateway"
guests=1
limit=900
whole=yes
long=yes

gateway_log() { grep -aq -- "$1" "$OUT/gateway.log"; }

# A server that knows TCP only: ksmbd on loopback. Started before there is a device, its own SMB Direct has port 445.
start_server() {
  export NETDEV=lo RDMA_KIND=none
  ip link set lo up && ksmbd_start
}

# The gateway is on smbd-broker, which has the device.
has_broker=false

# start_gateway OPTION ...    until it listens, or is attached to the broker
start_gateway() {
  local port
  port=$(cifs_port)
  local is_there="INFO listening address=$ADDRESS:$port"
  # That of 6.12 tries 5445 first, on RoCE too, where 445 is ksmbd's.
  [ "$KIND" = siw ] || $has_broker || set -- --listen "$ADDRESS:$port" "$@"
  if $has_broker; then
    # shellcheck source=../files.sh
    . "$LAB/files.sh"
    broker_for_many || return
    is_there='INFO attached broker=' && set -- --broker /run/broker "$@"
  fi
  "${SMBD_LIVE%/*}/smbd-gateway" run --server 127.0.0.1:445 "$@" >"$OUT/gateway.log" 2>&1 &
  GATEWAY_PID=$!
  await "$patience" gateway_log "$is_there"
}

# files_match FOLDER    files of many sizes, written through FOLDER, are the same behind it, and the other way round
files_match() {
  local size
  for size in 1 4095 4096 65537 1048575 1048576 3000001 8388609; do
    head -c "$size" /dev/urandom >"/run/file" && cp /run/file "$1/up-$size" && cp /run/file "$SHARE/down-$size" || return
    sync "$1/up-$size"
    cmp /run/file "$SHARE/up-$size" && cmp "$1/down-$size" /run/file || return
    cmp "$1/up-$size" /run/file || return
  done
}

# uses_rdma    whether the kernel's client says that its transport is SMB Direct
uses_rdma() {
  local up='SMBDirect (in hex) protocol version: 100 transport status: 2'
  [ "$(linux_known)" = 6.12 ] || up='SMBDirect protocol version: 0x100 transport status: CONNECTED '
  grep -aq "$up" /proc/fs/cifs/DebugData
}

# with_mount OPTIONS    all of it with these options of a mount
with_mount() {
  check "$1: cifs mounts through the gateway" cifs_mount "$ADDRESS" /mnt/share "cache=none,$1" || return
  check "$1: the transport is SMB Direct" uses_rdma
  check "$1: files are the same on both sides" files_match /mnt/share
  cp /proc/fs/cifs/DebugData "$OUT/DebugData.${1//,/-}"
  check "$1: cifs unmounts" umount /mnt/share
  rm -f "$SHARE"/*
}

scenario() {
  start_server && rdma_loopback "$KIND" 1024 && start_gateway || return
  with_mount vers=3.1.1
  check "the session uses RDMA" await "$patience" gateway_log 'client ended .*session=rdma.* rdma_in=[1-9][0-9]* rdma_out=[1-9]'
  with_mount vers=3.0
  with_mount vers=3.1.1,sign
  check "a signed session does not use RDMA, and the log says why" \
    await "$patience" gateway_log 'session=signed no_rdma="its session is signed.* rdma_in=0 rdma_out=0'
  with_mount vers=3.1.1,sign,seal
  check "an encrypted session does not use RDMA, and the log says why" \
    await "$patience" gateway_log 'session=encrypted no_rdma="its session is encrypted.* rdma_in=0 rdma_out=0'
  check "cifs mounts once more" cifs_mount "$ADDRESS" /mnt/share || return
  kill "$GATEWAY_PID" && check "with an idle client the gateway ends in order" wait "$GATEWAY_PID"
  check "the log says why the client ended" gateway_log 'client ended .*why="the gateway stops"'
  check "all connections were over" gateway_log 'INFO stopped why="all connections are over"'
  umount -l /mnt/share
}
