# shellcheck shell=bash
about="the kernel's client over TCP reaches ksmbd's SMB Direct through smbd-gateway reverse"
guests=1
limit=900
whole=yes
long=yes

reverse_log() { grep -aq -- "$1" "$OUT/reverse.log"; }

# start_reverse    until it listens, at 127.0.0.1:1445
start_reverse() {
  "${SMBD_LIVE%/*}/smbd-gateway" reverse --server "$ADDRESS" --metrics 127.0.0.1:9445 >"$OUT/reverse.log" 2>&1 &
  REVERSE_PID=$!
  await "$patience" reverse_log 'INFO listening address=127.0.0.1:1445'
}

# tcp_mount OPTIONS    the share through the gateway, without a cache: each write and read is one of SMB, up to wsize and rsize
tcp_mount() {
  mkdir -p /mnt/share
  timeout 60 mount -t cifs //127.0.0.1/share /mnt/share \
    -o "username=tester,password=test123,port=1445,cache=none,$1" ||
    complain "no mount: $(dmesg | grep -a CIFS | tail -n 3)"
}

# file_matches SIZE    a file of this size, written in one piece, is the same at the server, and the other way round
file_matches() {
  head -c "$1" /dev/urandom >/run/file &&
    dd if=/run/file of="/mnt/share/up-$1" bs="$1" conv=fsync status=none &&
    cmp /run/file "$SHARE/up-$1" && cp /run/file "$SHARE/down-$1" &&
    dd if="/mnt/share/down-$1" of=/run/back bs="$1" status=none &&
    cmp /run/file /run/back && dd if="/mnt/share/up-$1" bs=16M status=none | cmp - /run/file ||
    complain "a file of $1 bytes"
}

# files_match SIZES    files around each of these
files_match() {
  local around size
  : >/mnt/share/empty && [ -f "$SHARE/empty" ] && cmp /mnt/share/empty /dev/null || return
  for around in $1; do
    for size in $((around - 1)) "$around" $((around + 1)); do
      file_matches "$size" || return
    done
  done
}

# Limits: what goes by RDMA, a unit of credits, a buffer, what the server receives, the client's own.
limits="4096 65536 1044480 1048576 4194304"

# with_mount OPTIONS [SIZES]    all of it with these options of a mount
with_mount() {
  check "$1: cifs mounts over TCP through the gateway" tcp_mount "$1" || return
  check "$1: files are the same on both sides" files_match "${2:-4096}"
  check "$1: a read behind the end of a file has nothing" test "$(dd if=/mnt/share/up-4097 bs=8192 skip=1 status=none | wc -c)" = 0
  [ "$#" = 1 ] || check "$1: small files, and their folder" small_files
  check "$1: cifs unmounts" umount /mnt/share
  rm -rf "${SHARE:?}"/*
}

small_files() {
  local file
  mkdir /mnt/share/small && for file in {1..20}; do echo "$file" >"/mnt/share/small/$file" || return; done
  [ "$(find /mnt/share/small -type f | wc -l)" = 20 ] && [ "$(cat "$SHARE"/small/* | sort -n | tail -n 1)" = 20 ]
}

# without_loss OPTIONS    a process that reads is killed in the middle, and the mount goes on
without_loss() {
  head -c 8000000 /dev/urandom >"$SHARE/long"
  tcp_mount "$1" || return
  local round
  for round in {1..20}; do
    dd if=/mnt/share/long of=/dev/null bs=1M status=none &
    sleep "0.0$((round % 5))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
  done
  cmp /mnt/share/long "$SHARE/long" && umount /mnt/share
}

# reverse_log_behind LINES PATTERN    the same behind so many lines
reverse_log_behind() { tail -n "+$(($1 + 1))" "$OUT/reverse.log" | grep -aq -- "$2"; }

# with_smbclient    files by a client that is no kernel's, each in both directions
with_smbclient() {
  local size behind
  has_samba || { skip "smbclient" "it is not in $LAB_CACHE/samba: $LAB/setup says why" && return; }
  samba_programs || return
  for size in 0 1 4096 65537 1048577 9000001; do
    behind=$(wc -l <"$OUT/reverse.log")
    check "smbclient: a file of $size bytes is the same on both sides" smbclient_matches "$size"
  done
  check "smbclient: data went by RDMA in both directions" \
    await "$patience" reverse_log_behind "$behind" 'client ended .*session=rdma.* rdma_in=9000001 rdma_out=9000001'
  rm -rf "${SHARE:?}"/*
}

smbclient_matches() {
  head -c "$1" /dev/urandom >/run/file && rm -f /run/back &&
    smbclient --configfile=/dev/null --port 1445 --user tester%test123 --max-protocol SMB3_11 //127.0.0.1/share \
      --command "put /run/file up-$1; get up-$1 /run/back" &&
    cmp /run/file "$SHARE/up-$1" && cmp /run/file /run/back
}

# reverse_shows PATTERN    whether its status has this
reverse_shows() {
  "${SMBD_LIVE%/*}/smbd-gateway" status --socket /run/smbd-gateway/reverse.sock --json | tee -a "$OUT/told.json" | grep -aq -- "$1"
}

scenario() {
  rdma_loopback "$KIND" 1024 && ksmbd_start && start_reverse || return
  with_mount vers=3.1.1 "$limits"
  check "data went by RDMA in both directions" \
    await "$patience" reverse_log 'client ended .*session=rdma.* rdma_in=[1-9][0-9]* rdma_out=[1-9]'
  with_mount vers=3.0
  with_mount vers=2.1,rsize=65536,wsize=65536
  with_mount vers=3.1.1,sign,rsize=65536,wsize=65536
  check "a signed session does not use RDMA, and the log says why" \
    await "$patience" reverse_log 'session=signed no_rdma="its session is signed.* rdma_in=0 rdma_out=0'
  with_smbclient
  # Encrypted sessions are in ours-reverse-gateway: of an encrypted answer ksmbd sends the first fragment only, to cifs too.
  check "processes are killed while they read" without_loss vers=3.1.1
  check "signed, in pieces that are too long: cifs mounts" tcp_mount vers=3.1.1,sign,soft || return
  timeout 20 dd if=/dev/zero of=/mnt/share/zeros bs=4M count=1 status=none
  check "what the server does not receive ends the connection, with advice" \
    await "$patience" reverse_log 'the server receives .* at most over SMB Direct .*wsize='
  umount -l /mnt/share
  check "metrics are told" bash -c "curl -s http://127.0.0.1:9445/metrics | grep -q 'bytes_total{way=\"rdma_write\"} [1-9]'"
  check "cifs mounts once more" tcp_mount vers=3.1.1 || return
  head -c 3000000 /dev/zero >/mnt/share/file
  check "the status has the client, its session and its bytes" \
    await "$patience" reverse_shows '"client":"127.0.0.1:[0-9]*".*"dialect":"3.1.1","session":"rdma".*"rdma_in":[1-9]'
  kill "$REVERSE_PID" && check "with an idle client it ends in order" wait "$REVERSE_PID"
  check "all connections were over" reverse_log 'INFO stopped why="all connections are over"'
  check "the socket of its status is gone" test ! -e /run/smbd-gateway/reverse.sock
  umount -l /mnt/share
}
