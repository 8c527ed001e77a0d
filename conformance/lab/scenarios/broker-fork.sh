# shellcheck shell=bash
about="smbd-serve --fork on smbd-broker: a process for each client; two mounts, fsx, channels, a child killed and one stopped for 100 s, the broker killed"
guests=1
limit=3600
whole=yes
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect

# shellcheck source=../files.sh
. "$LAB/files.sh"

# Bytes of a file that is being written when something happens.
big=60000000

# starts    smbd-serve, which attaches to the broker; its log goes on
starts() {
  local before
  export SHARE=/run/share
  before=$(grep -c 'INFO attached ' "$OUT/serve.log")
  mkdir -p "$SHARE" && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  "${SMBD_LIVE%/*}/smbd-serve" "$SHARE" --broker /run/broker --broker-address "$ADDRESS" --fork --users /run/users >>"$OUT/serve.log" 2>&1 &
  SERVE_PID=$!
  await "$patience" has_more attached "$before"
}
has_more() { [ "$(grep -c "  *[A-Z]* $1 " "$OUT/serve.log")" -gt "$2" ]; }

# log_count TEXT    lines of the broker's log
log_count() { grep -ac -- "$1" "$OUT/broker.log"; }

# child_of N    the process that serves a mount: that which has its file open
child_of() {
  local pid
  exec 7>>"/run/mnt$1/probe$1" || return
  for pid in $(pgrep -x smbd-serve); do
    [ -z "$(find "/proc/$pid/fd" -lname "$SHARE/probe$1")" ] || echo "$pid"
  done
  exec 7>&-
}

# mounts N    the share, at /run/mntN, by a client of its own; the process that serves it is ${child[N]}
declare -A child=()
mounts() { cifs_mount "$ADDRESS" "/run/mnt$1" cache=none,nosharesock && child[$1]=$(child_of "$1") && [ -n "${child[$1]}" ]; }

# has_two_children    each mount has a process of its own, which has a connection of the broker's, and the parent has none
has_two_children() {
  local at status
  status=$("${SMBD_LIVE%/*}/smbd-broker" status --socket /run/status --json) && [ "${child[1]}" != "${child[2]}" ] || complain "${child[*]}" || return
  for at in 1 2; do
    grep -q "INFO child started child=${child[$at]} " "$OUT/serve.log" &&
      grep -q "\"pid\":${child[$at]},[^}]*\"is_acceptor\":false,\"connections\":1,\"sessions\":1,\"clients\":1" <<<"$status" || complain "$status" || return
  done
  grep -q "\"pid\":$SERVE_PID,[^}]*\"is_acceptor\":true,\"connections\":0," <<<"$status" || complain "$status"
}

# same N SIZE    a file of this size is the same on both sides of a mount
same() {
  head -c "$2" /dev/urandom >/run/file && cp /run/file "/run/mnt$1/f" && cmp /run/file "$SHARE/f" && cmp /run/file "/run/mnt$1/f" && rm "/run/mnt$1/f"
}

# writes N    the big file is written through a mount, of which some has come when this returns; its writer is ${writer[N]}
declare -A writer=()
writes() {
  [ -e /run/big ] || head -c "$big" /dev/urandom >/run/big || return
  rm -f "$SHARE/big$1"
  dd if=/run/big of="/run/mnt$1/big$1" bs=1M conv=fsync status=none 2>>"$OUT/dd.log" &
  writer[$1]=$!
  await "$patience" is_long "$SHARE/big$1" 5000000
}

# written N    the big file was written, and is right on both sides
written() { wait "${writer[$1]}" && cmp /run/big "$SHARE/big$1" && cmp /run/big "/run/mnt$1/big$1"; }

# written_or_told N    the same, or whoever has written it was told that it could not
written_or_told() {
  local status=0
  wait "${writer[$1]}" || status=$?
  echo "the writer on mount $1 ended with $status" | tee -a "$OUT/killed.txt"
  [ "$status" != 0 ] || cmp /run/big "$SHARE/big$1"
}

# goes_on N    the mount works again, with another child
goes_on() {
  local was=${child[$1]}
  await "$patience" same "$1" 100000 && child[$1]=$(child_of "$1") && [ -n "${child[$1]}" ] && [ "${child[$1]}" != "$was" ] ||
    complain "it was ${child[$1]}"
}

child_is_killed() {
  kill -KILL "${child[1]}"
  await "$patience" grep -q "INFO child ended child=${child[1]} .*SIGKILL" "$OUT/serve.log"
}

# --- a child that is stopped -------------------------------------------------------------------------------------------

stop_seconds=100

# memory_of PID    KiB that a process has
memory_of() { sed -nE 's/^VmRSS:[[:space:]]*([0-9]+) kB/\1/p' "/proc/$1/status"; }

# empties    how many messages without data each connection of cifs has sent, one a line
empties() { grep -ao 'count_send_empty: [0-9a-f]*' /proc/fs/cifs/DebugData | sed 's/.*: /0x/'; }

# stopped N OTHER    while one child is stopped, files of the other mount are right, and its own client, which waits, says that it is there
stopped() {
  local status=0
  connections=$(log_count 'connection routed') ends=$(log_count 'connection ended') memory=$(memory_of "$BROKER_PID") files=0
  dmesg >"$OUT/dmesg-before.txt" && empties >/run/empties && kill -STOP "${child[$1]}" || return
  for_a_while "$1" "$2" || status=$?
  kill -CONT "${child[$1]}"
  return "$status"
}

for_a_while() {
  local end=$((SECONDS + stop_seconds)) now
  while [ "$SECONDS" -lt "$end" ]; do
    same "$2" 1000000 || return
    files=$((files + 1))
    sleep 1
  done
  now=$(memory_of "$BROKER_PID")
  empties >/run/empties-now && paste /run/empties /run/empties-now >"$OUT/empties.txt" || return
  echo "$files files of the other mount; the broker had $memory KiB before and has $now KiB" | tee -a "$OUT/stopped.txt"
  kill -0 "${writer[$1]}" || complain "the writer has ended: $(tail -n 1 "$OUT/dd.log")" || return
  [ $((now - memory)) -lt 65536 ]
}

# still_there    meanwhile a client that waited has said several times that it is there
still_there() {
  local before after
  while read -r before after; do
    if [ $((after - before)) -ge 5 ]; then return; fi
  done <"$OUT/empties.txt"
  complain "$(cat "$OUT/empties.txt")"
}

# no_reconnect    since then no connection has ended, and none has begun
no_reconnect() {
  [ "$(log_count 'connection routed')" = "$connections" ] && [ "$(log_count 'connection ended')" = "$ends" ] ||
    complain "$(tail -n 5 "$OUT/broker.log")" || return
  dmesg | diff "$OUT/dmesg-before.txt" - | grep -a '^>' >"$OUT/dmesg-stopped.txt"
  ! grep -aiqE 'disconnected|established|has not responded' "$OUT/dmesg-stopped.txt" || complain "$(tail -n 3 "$OUT/dmesg-stopped.txt")"
}

# --- several connections of a session ----------------------------------------------------------------------------------

# same_child    both connections of the last client of smbd-cp were served by one process, which was given the second one by its client
same_child() {
  await "$patience" eval "[ \$(tail -n '+$((logged + 1))' '$OUT/serve.log' | grep -c 'INFO client ended ') -ge 2 ]" || return
  [ "$(tail -n "+$((logged + 1))" "$OUT/serve.log" | sed -nE 's/.* client ended .* pid=([0-9]+)$/\1/p' | sort | uniq -c | awk '{ print $1 }')" = 2 ] &&
    [ "$(log_count 'connection routed .*rule=client')" -gt "$by_client" ] || complain "$(tail -n 5 "$OUT/serve.log")"
}

# over_two put|get FROM TO    a file goes over two connections, both of which one child has
over_two() {
  logged=$(wc -l <"$OUT/serve.log") by_client=$(log_count 'connection routed .*rule=client')
  both "$@" && same_child
}

# late_channel    a session gets a second connection while the first has data under way; one child has both, and each has had data
late_channel() {
  logged=$(wc -l <"$OUT/serve.log") by_client=$(log_count 'connection routed .*rule=client')
  timeout 200 "$SMBD_LIVE" late-channel "$ADDRESS:$(ksmbd_port)" | tee -a "$OUT/late.txt" && same_child &&
    [ "$(tail -n "+$((logged + 1))" "$OUT/serve.log" | grep -c 'INFO client ended .* rdma_in=[0-9]\{6,\} rdma_out=[0-9]\{6,\} ')" = 2 ] ||
    complain "$(tail -n 3 "$OUT/serve.log")"
}

broker_is_killed() {
  local before
  before=$(grep -c 'INFO attached ' "$OUT/serve.log")
  kill -KILL "$BROKER_PID"
  wait "$BROKER_PID"
  await "$patience" grep -q "WARN broker lost .* pid=${child[2]}$" "$OUT/serve.log" && await "$patience" grep -q "INFO child ended child=${child[2]} " "$OUT/serve.log" &&
    listens_again && await "$patience" has_more attached "$before"
}
listens_again() { broker --status-socket /run/status; }

parent_is_killed() {
  kill -KILL "$SERVE_PID"
  wait "$SERVE_PID"
  await "$patience" eval "! kill -0 ${child[1]}" && await "$patience" eval "! kill -0 ${child[2]}"
}

scenario() {
  local programs=${SMBD_LIVE%/*} url options=() size way logged by_client connections ends memory files
  [ -x "$programs/smbd-broker" ] && [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-broker" "it, smbd-serve or smbd-cp is not among the programs" && return; }
  # A client that is idle says every 10 s that it is there.
  rdma_loopback "$KIND" 1024 && cifs_set smbd_keep_alive_interval 10 && touch "$OUT/serve.log" && listens_again && starts || return
  export SMBD_PASSWORD=test123
  url=rdma://tester@$ADDRESS/share
  check "the kernel's client mounts it" mounts 1 && check "and another one, which is another client" mounts 2 || return
  check "two processes serve them, and the parent none" has_two_children
  for size in 0 1 4097 1048577 16777216; do
    check "a file of $size bytes is the same on both sides of one mount" same 1 "$size"
    check "and of the other" same 2 "$size"
  done
  if with_fsx; then
    writes 2
    check "fsx on one mount, while the other is written to: each byte is right" fsx_plays /run/mnt1/fsx 1000 uncached
    check "the server has the same file" cmp /run/mnt1/fsx "$SHARE/fsx"
    check "what was written meanwhile is right" written 2
  fi
  head -c 50000000 /dev/urandom >/run/file
  way='rdma'
  check "smbd-cp: a file goes over two connections, both of the same child" over_two put /run/file "$url/up"
  check "it is the same" cmp /run/file "$SHARE/up"
  check "it comes back over two" over_two get "$url/up" /run/back
  check "it is the same again" cmp /run/file /run/back
  check "a session gets a second connection while data go on the first: both are of one child" late_channel
  writes 1 && writes 2
  check "a child is killed while both mounts are written to, and its parent says so" child_is_killed
  check "what is written to the other mount is right" written 2
  check "what was written to its own is right, or the writer was told" written_or_told 1
  check "its client goes on with another child" goes_on 1
  writes 2
  check "a child is stopped for $stop_seconds s: other clients go on, and the broker's memory is bounded" stopped 2 1
  check "its client has said meanwhile that it is there" still_there
  check "what its client has written meanwhile is right" written 2
  check "its client has not connected again" no_reconnect
  writes 1
  check "the broker is killed: children end, and the parent attaches to the next one" broker_is_killed
  check "what was written is right, or the writer was told" written_or_told 1
  check "both clients go on with other children" eval "goes_on 1 && goes_on 2"
  check "the parent is killed: its children end" parent_is_killed
  starts || return
  check "both clients go on with those of another one" eval "goes_on 1 && goes_on 2"
  check "they are unmounted" eval "timeout 60 umount /run/mnt1 && timeout 60 umount /run/mnt2"
  check "the server ends in good order" serve_ends
  check "the broker ends in good order" eval "kill -TERM $BROKER_PID && wait $BROKER_PID && tail -n 1 '$OUT/broker.log' | grep -q 'INFO ended$' && [ ! -e /run/broker ]"
}
