# shellcheck shell=bash
about="smbd-broker has the connections of smbd-serve: smbd-cp and the kernel's client copy files; server and broker are killed"
guests=1
limit=1800
whole=yes
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect

# shellcheck source=../files.sh
. "$LAB/files.sh"

# attached N    smbd-serve attaches, for the Nth time of all
attach() {
  export SHARE=/run/share
  mkdir -p "$SHARE" && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  "${SMBD_LIVE%/*}/smbd-serve" "$SHARE" --broker /run/broker --users /run/users >>"$OUT/serve.log" 2>&1 &
  SERVE_PID=$!
  attached "$1"
}

attached() { await "$patience" eval "[ \"\$(grep -c 'INFO attached ' '$OUT/serve.log')\" = $1 ]"; }

# mounted N    the kernel's client mounts the share N times, and files are the same on both sides
mounted() {
  local at
  for at in $(seq "$1"); do
    mkdir -p "/run/mnt$at" &&
      timeout 60 mount -t cifs "//$ADDRESS/share" "/run/mnt$at" -o rdma,vers=3.1.1,username=tester,password=test123,cache=none,nosharesock ||
      return
  done
  for at in $(seq "$1"); do
    head -c 3000001 /dev/urandom >/run/file && cp /run/file "/run/mnt$at/kernel$at" && cmp /run/file "$SHARE/kernel$at" &&
      cmp /run/file "/run/mnt$at/kernel$at" || return
  done
  for at in $(seq "$1"); do timeout 60 umount "/run/mnt$at" || return; done
}

refused() {
  cp_fails 1 . get "$url/up" /run/refused || return
  await "$patience" grep -q 'client refused .*no server would take it' "$OUT/broker.log"
}

server_is_killed() {
  kill -KILL "$SERVE_PID"
  wait "$SERVE_PID"
  await "$patience" grep -q 'INFO owner left owner=1$' "$OUT/broker.log"
}

broker_is_killed() {
  kill -KILL "$BROKER_PID"
  wait "$BROKER_PID"
  await "$patience" grep -q 'WARN broker lost ' "$OUT/serve.log" && broker && attached 3
}

scenario() {
  local programs=${SMBD_LIVE%/*} url options=() size
  [ -x "$programs/smbd-broker" ] && [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-broker" "it, smbd-serve or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && broker || return
  export SMBD_PASSWORD=test123
  url=rdma://tester@$ADDRESS/share
  check "while no server is attached, a client is refused, and the broker says so" refused
  attach 1 || return
  for size in 0 1 4096 4097 65537 1048577 16777216; do
    check "smbd-cp: a file of $size bytes is the same on both sides, by RDMA" file_matches "$size" rdma
  done
  options=(--sign)
  check "smbd-cp, signed: the same" file_matches 1048577 'rdma signed'
  options=(--encrypt)
  check "smbd-cp, encrypted: the same" file_matches 1048577 'rdma encrypted'
  options=(--rdma-messages)
  check "smbd-cp, without the channel: the same" file_matches 1048577 'rdma messages'
  options=()
  check "the kernel's client mounts twice, and files are the same on both sides" mounted 2
  check "a server is killed, and the broker goes on" server_is_killed
  attach 2 || return
  check "another server attaches, and files are the same on both sides" file_matches 1048577 rdma
  check "the broker is killed: the server waits for another one and attaches to it" broker_is_killed
  check "files are the same on both sides" file_matches 1048577 rdma
  check "the server ends in good order" serve_ends
  check "the broker ends in good order" eval "kill -TERM $BROKER_PID && wait $BROKER_PID && tail -n 1 '$OUT/broker.log' | grep -q 'INFO ended$' && [ ! -e /run/broker ]"
}
