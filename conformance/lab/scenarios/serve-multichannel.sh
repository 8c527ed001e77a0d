# shellcheck shell=bash
about="smbd-serve has a session on two connections: smbd-cp over TCP and SMB Direct, and the kernel's mounts"
guests=1
limit=1200
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

size=200000000
url=

# serve_both    smbd-serve, at an address with a device and at one without; its log is a new one
serve_both() {
  if [ -f "$OUT/serve.log" ]; then cat "$OUT/serve.log" >>"$OUT/served.log" && rm "$OUT/serve.log"; fi
  serve --listen tcp:10.9.1.9:445
}

# server_saw_both    the server has the user on a connection of each kind, both with data
server_saw_both() {
  grep -q 'client ended .*over=tcp .*user=tester .*bytes_in=[0-9]\{7\}' "$OUT/serve.log" &&
    grep -q 'client ended .*over=rdma .*user=tester .*rdma_in=[0-9]\{7\}' "$OUT/serve.log"
}

# mounts OPTION    the kernel's client mounts the share
mounts() {
  mkdir -p /run/mount && timeout 60 mount -t cifs "//$ADDRESS/share" /run/mount -o "username=tester,password=test123,vers=3.1.1,$1"
}

# begins_again    the server has a log without any client
begins_again() { serve_ends && serve_both; }

# has_two    whether the kernel's session has a second channel
has_two() {
  ls /run/mount >/dev/null && cp /proc/fs/cifs/DebugData "$OUT/cifs.log" && grep -q 'Extra Channels: [1-9]' "$OUT/cifs.log"
}

# has_two_again    the same when it has connected again, because the server has ended and begun
has_two_again() { begins_again && await "$patience" has_two; }

# kernel_has_two    a kernel without CONFIG_CIFS_DFS_UPCALL makes no second channel at the mount (docs/linux-6.12.md)
kernel_has_two() {
  if has_two || has_two_again >/dev/null 2>&1; then
    mv "$OUT/cifs.log" "$OUT/cifs-$1.log"
    check "the kernel has two channels, $1" true
  else
    skip "two channels of the kernel, $1" "cifs.ko has made no second one, neither at the mount nor when it connected again"
  fi
}

mount_copies() {
  head -c 20000003 /dev/urandom >/run/small && cp /run/small /run/mount/m && sync && cmp /run/small "$SHARE/m" &&
    echo 3 >/proc/sys/vm/drop_caches && cmp /run/mount/m /run/small
}

# mounts_with tcp|rdma    the kernel's client, asked for two channels
mounts_with() {
  local option=multichannel,max_channels=2
  [ "$1" = tcp ] || option=rdma,$option
  check "the kernel mounts, asked for two channels, $1" mounts "$option" || return 0
  kernel_has_two "$1"
  check "a file is the same through the mount, $1" mount_copies
  check "it is unmounted, $1" umount /run/mount
}

scenario() {
  local programs=${SMBD_LIVE%/*} options=()
  [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-serve" "it or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && second_interface && serve_both || return
  url=smb://tester@10.9.1.9/share
  export SMBD_PASSWORD=test123
  head -c "$size" /dev/urandom >/run/file
  both_ways
  check "the server has seen both" server_saw_both
  way='.*'
  for options in --sign --encrypt; do
    options=("$options")
    check "a file goes over both, ${options[0]#--}ed" both put /run/file "$url/up"
    check "it is the same, ${options[0]#--}ed" cmp /run/file "$SHARE/up"
  done
  options=()
  mounts_with tcp
  mounts_with rdma
  check "it ends in good order" serve_ends
}
