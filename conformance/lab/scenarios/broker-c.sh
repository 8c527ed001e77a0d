# shellcheck shell=bash
about="a server in C on smbd-broker, which needs no RDMA: the kernel's client mounts it read-only, and smbd-cp reads from it"
guests=1
limit=900
whole=yes
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect

# shellcheck source=../files.sh
. "$LAB/files.sh"

sizes=(0 1 4096 65537 1048577 16777216)

attaches() {
  local size
  mkdir -p /run/share/folder || return
  for size in "${sizes[@]}"; do head -c "$size" /dev/urandom >"/run/share/$size" || return; done
  cp /run/share/4096 /run/share/folder/inner
  "${SMBD_LIVE%/*}/readonly-server" /run/broker share /run/share >>"$OUT/server.log" 2>&1 &
  SERVER_PID=$!
  await "$patience" grep -q '^attached ' "$OUT/server.log"
}

# mounts OPTIONS    at /run/mnt
mounts() { mkdir -p /run/mnt && timeout 60 mount -t cifs "//$ADDRESS/share" /run/mnt -o "rdma,vers=3.0.2,sec=none,cache=none,$1"; }

same() { cmp "/run/share/$1" "/run/mnt/$1"; }

# names FOLDER    what is in it, files with their sizes
names() { (cd "$1" && find . -type d -printf '%p/\n' -o -printf '%p %s\n' | sort); }

listed() { names /run/share >/run/here && names /run/mnt >/run/there && diff /run/here /run/there; }

by_rdma() { grep -qE '^client gone .* by_rdma=[1-9][0-9]{6,} ' "$OUT/server.log"; }

# refused COMMAND ...    it fails, because the share is read-only
refused() { ! "$@" 2>>"$OUT/refused.log" && tail -n 1 "$OUT/refused.log" | grep -qE 'Read-only file system|Permission denied'; }

unmounts() { timeout 60 umount /run/mnt && await "$patience" by_rdma; }

gets() {
  local url=rdma://tester@$ADDRESS/share to=/run/back
  rm -f "$to" "$OUT/said"
  cp_says said get "$url/$1" "$to" --guest "${options[@]}" && cmp "/run/share/$1" "$to" && grep -qE " MB/s, $2(, |\$)" "$OUT/said" ||
    complain "$1: $(tail -n 1 "$OUT/cp.log")"
}

ends() { kill -TERM "$SERVER_PID" && wait "$SERVER_PID" && tail -n 1 "$OUT/server.log" | grep -qx ended; }

scenario() {
  local programs=${SMBD_LIVE%/*} size options=()
  [ -x "$programs/smbd-broker" ] && [ -x "$programs/readonly-server" ] ||
    { skip "the server in C" "smbd-broker or readonly-server (smbd-broker/c/Makefile) is not among the programs" && return; }
  export SMBD_PASSWORD=any
  rdma_loopback "$KIND" 1024 && broker && attaches || return
  check "the kernel's client mounts it" mounts ro || return
  for size in "${sizes[@]}"; do check "a file of $size bytes is the same on both sides" same "$size"; done
  check "a file in a folder is the same on both sides" same folder/inner
  check "files and folders are listed as they are" listed
  check "nothing is written" refused touch /run/mnt/new
  check "it is unmounted, and the data of its files went by RDMA" unmounts
  check "it is mounted to be written" mounts rw
  check "and the server refuses a new file" refused touch /run/mnt/new
  check "and bytes for a file that is there" refused dd if=/dev/zero of=/run/mnt/4096 bs=1 count=1 conv=notrunc status=none
  check "and a folder" refused mkdir /run/mnt/folder2
  check "and that a file goes" refused rm /run/mnt/1
  check "files are as they were" same 4096
  check "it is unmounted again" timeout 60 umount /run/mnt
  if [ -x "$programs/smbd-cp" ]; then
    for size in "${sizes[@]}"; do check "smbd-cp reads a file of $size bytes, by RDMA" gets "$size" rdma; done
    options=(--rdma-messages)
    check "smbd-cp reads a file in messages" gets 1048577 'rdma messages'
  fi
  check "the server ends in good order" ends
  check "the broker ends in good order" eval "kill -TERM $BROKER_PID && wait $BROKER_PID && tail -n 1 '$OUT/broker.log' | grep -q 'INFO ended$'"
}
