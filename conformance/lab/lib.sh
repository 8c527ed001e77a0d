# shellcheck shell=bash
# Functions for scripts that run in a guest: . "$LAB/lib.sh"
# Each says on the standard error what went wrong and returns 1.

complain() { echo "lab: $*" >&2 && return 1; }

# --- waiting ----------------------------------------------------------------------------------------------------------

# Bounds a hang and says nothing else: longer than anything takes.
patience=100

# await SECONDS COMMAND [ARGUMENT ...]    until the command succeeds
await() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || complain "waited in vain for: $*" || return
    sleep 0.1
  done
}

# await_port PORT [SECONDS]    until something listens on a TCP port
await_port() { await "${2:-$patience}" listens "$1"; }
listens() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

# await_host ADDRESS [SECONDS]    until an address answers
await_host() { await "${2:-$patience}" ping -c1 -W1 "$1"; }

# meet NAME    in a pair: until the other side has come to the same point. How long that takes is its own affair; when it
# fails instead, `pair` ends this one.
meet() {
  local other=a
  [ "$LAB_SIDE" = b ] || other=b
  mkdir -p /out/met && touch "/out/met/$1.$LAB_SIDE"
  until [ -e "/out/met/$1.$other" ]; do sleep 0.1; done
}

# --- RDMA devices -----------------------------------------------------------------------------------------------------
# RDMA_KIND is siw (iWARP) or rxe (RoCEv2), RDMA_DEVICE the device, NETDEV the network interface below it, ADDRESS and
# ADDRESS6 what it is reached at. ADDRESS6 is empty if the guest kernel has no IPv6.

has_ipv6() { [ -d /proc/sys/net/ipv6 ]; }

# rdma_loopback KIND [MTU]    a device that is reached from the same guest; MTU as for rdma_over
rdma_loopback() {
  ip link add lab0 type veth peer name lab1 && ip link set lab1 up || return
  rdma_over lab0 "$1" 9 "${2:-}"
}

# rdma_link KIND [MTU]    in a pair: a device on the link; PEER and PEER6 are the other side's addresses
rdma_link() {
  local own=1 other=2
  [ "$LAB_SIDE" = a ] || own=2 other=1
  rdma_over "${LAB_NETDEV:-eth0}" "$1" "$own" "${2:-}" || return
  PEER=10.9.0.$other PEER6=${ADDRESS6:+fd09::$other}
  export PEER PEER6
  await_host "$PEER"
}

# rdma_over NETDEV KIND HOST [MTU]    a device over an interface, at 10.9.0.HOST and fd09::HOST. MTU 1024, 2048 or 4096
# is the path MTU with rxe; with siw the interface just gets as much room.
rdma_over() {
  NETDEV=$1 RDMA_KIND=$2 RDMA_DEVICE=${2}0 ADDRESS=10.9.0.$3 ADDRESS6=''
  case "$RDMA_KIND" in
    siw | rxe) ;;
    *) complain "the kind of device is siw or rxe, not '$2'" || return ;;
  esac
  case "${4:-}" in
    '') ;;
    # An interface with room for 1024 and no more could not have IPv6; 1500 still means 1024.
    1024) set_mtu 1500 || return ;;
    # rxe takes the greatest path MTU that leaves 80 bytes for its headers.
    2048 | 4096) set_mtu $(($4 + 104)) || return ;;
    *) complain "the path MTU is 1024, 2048 or 4096, not '$4'" || return ;;
  esac
  ip address add "$ADDRESS/24" dev "$NETDEV" && ip link set "$NETDEV" up || return
  if has_ipv6; then
    ADDRESS6=fd09::$3
    # Without duplicate address detection the address is usable at once.
    ip address add "$ADDRESS6/64" dev "$NETDEV" nodad || return
  fi
  rdma link add "$RDMA_DEVICE" type "$RDMA_KIND" netdev "$NETDEV" || return
  await "$patience" port_is_active "$RDMA_DEVICE" || return
  export NETDEV RDMA_KIND RDMA_DEVICE ADDRESS ADDRESS6
}
# set_mtu MTU    of $NETDEV; the link of two native guests has the greatest already, and takes no greater one than it first had
set_mtu() { [ "$(cat "/sys/class/net/$NETDEV/mtu")" = "$1" ] || ip link set "$NETDEV" mtu "$1"; }
port_is_active() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"; }

# honest_address    another address of the device, HONEST: for who should not be taken for an attacker
honest_address() {
  export HONEST=10.9.0.77
  ip address add "$HONEST/24" dev "$NETDEV"
}

# path_mtu    of the device, as it says itself
path_mtu() { ibv_devinfo -d "$RDMA_DEVICE" | awk '/active_mtu/ { print $2 }'; }

# rdma_counts    the objects that exist on the device, on one line: qp=0 cq=1 pd=1 cm_id=0 mr=0
rdma_counts() {
  rdma resource show "$RDMA_DEVICE" |
    awk '{ for (i = 3; i < NF; i += 2) if ($i ~ /^(qp|cq|pd|cm_id|mr)$/) printf "%s=%s ", $i, $(i + 1); print "" }' | sed 's/ $//'
}

# rdma_is_at COUNTS    whether the device has just these; what a program held goes some time after it
rdma_is_at() { [ "$(rdma_counts)" = "$1" ]; }

# fd_count PID    open file descriptors of a process
fd_count() { find "/proc/$1/fd" -mindepth 1 -maxdepth 1 | wc -l; }

# --- the kernel's server: ksmbd ---------------------------------------------------------------------------------------

# ksmbd_port    where ksmbd listens for SMB Direct: it has a port of its own for iWARP
ksmbd_port() { if [ "$RDMA_KIND" = siw ]; then echo 5445; else echo 445; fi; }

# linux_known    which of the releases that tests know the kernel is like, 6.12 or 7.3: since Linux 7.2 its SMB Direct is another one
# (docs/linux-7.3.md)
linux_known() { if linux_is 7 2; then echo 7.3; else echo 6.12; fi; }

# linux_is MAJOR MINOR    whether the kernel is this release of Linux, or a newer one
linux_is() {
  [[ $(uname -r) =~ ^([0-9]+)\.([0-9]+) ]] || complain "$(uname -r) is no release of Linux" || return
  [ $((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2])) -ge $(($1 * 1000 + $2)) ]
}

# ksmbd_grants    CreditsGranted of ksmbd to a client that asks for 255: all of them since Linux 7.2
ksmbd_grants() { if [ "$(linux_known)" = 7.3 ]; then echo 255; else echo 254; fi; }

# ksmbd_start ['NAME = VALUE' ...]    with these settings in [global]. The share `share` is $SHARE, user tester, password
# test123; guests are let in.
ksmbd_start() {
  local tools=$LAB_CACHE/ksmbd-tools-3.5/usr setting
  [ -x "$tools/libexec/ksmbd.tools" ] || complain "ksmbd-tools are not in $tools: run $LAB/setup" || return
  export SHARE=/run/share KSMBD=/run/ksmbd-lab
  mkdir -p "$SHARE" "$KSMBD" /run/lock && chmod 777 "$SHARE"
  {
    printf '[global]\n netbios name = LAB\n server multi channel support = yes\n map to guest = bad user\n'
    printf ' bind interfaces only = yes\n interfaces = %s\n' "$NETDEV"
    for setting; do printf ' %s\n' "$setting"; done
    printf '[share]\n path = %s\n read only = no\n guest ok = yes\n' "$SHARE"
  } >"$KSMBD/ksmbd.conf"
  touch "$KSMBD/users"
  # One program under several names; it goes by the name it is called with.
  (exec -a ksmbd.adduser "$tools/libexec/ksmbd.tools" -a -p test123 -P "$KSMBD/users" -C "$KSMBD/ksmbd.conf" tester) \
    >"$KSMBD/adduser.log" 2>&1 || complain "ksmbd.adduser: $(cat "$KSMBD/adduser.log")" || return
  (exec -a ksmbd.mountd "$tools/libexec/ksmbd.tools" -n -C "$KSMBD/ksmbd.conf" -P "$KSMBD/users") \
    >"$OUT/ksmbd.log" 2>&1 &
  KSMBD_PID=$!
  KSMBD_PORT=$(ksmbd_port)
  export KSMBD_PORT
  await "$patience" grep -q running /sys/class/ksmbd-control/stats && await_port 445
}

# ksmbd_stop    shuts the server down, connections included
ksmbd_stop() {
  echo hard >/sys/class/ksmbd-control/kill_server
  kill "$KSMBD_PID" 2>/dev/null
  wait "$KSMBD_PID" 2>/dev/null
  return 0
}

# --- a server over TCP: Samba -----------------------------------------------------------------------------------------
# What it keeps is in $SAMBA, in the guest's memory.

SAMBA=/run/samba-lab

# has_samba    whether Samba is on this machine or was unpacked
has_samba() { [ -x /usr/sbin/smbd ] || [ -x "$LAB_CACHE/samba/usr/sbin/smbd" ]; }

# with_samba    the same; if not, what needs it is skipped
with_samba() {
  has_samba || { skip "tests with Samba" "it is not in $LAB_CACHE/samba: $LAB/setup says why" && return 1; }
}

# samba_programs    puts Samba's programs, and its tests of servers, at the paths that they look for their parts at, unless they are
# installed
samba_programs() {
  local lower=''
  [ -x /usr/sbin/smbd ] || lower=$LAB_CACHE/samba/usr:
  [ -x /usr/bin/smbtorture ] || [ ! -d "$LAB_CACHE/smbtorture" ] || lower+=$LAB_CACHE/smbtorture/usr:
  [ -z "$lower" ] || mount -t overlay overlay -o "lowerdir=$lower/usr" /usr
}

# with_smbtorture    whether those tests are there, behind samba_programs; if not, what needs them is skipped
with_smbtorture() {
  [ -x /usr/bin/smbtorture ] || { skip "smbtorture" "it is not in $LAB_CACHE/smbtorture: $LAB/setup says why" && return 1; }
}

# samba_start ['NAME = VALUE' ...]    smbd at 127.0.0.1:445 with these settings in [global]; '[NAME]' begins another share and its
# settings. The share `share` is $SHARE, user tester, password test123. Its log is $OUT/samba.log. A second one beside it takes another
# SAMBA, SAMBA_SHARE (the folder) and SAMBA_PORT.
samba_start() {
  local setting port=${SAMBA_PORT:-445} log=$OUT/samba${SAMBA_PORT:+-$SAMBA_PORT}.log
  has_samba || complain "Samba is not in $LAB_CACHE/samba: run $LAB/setup" || return
  samba_programs || return
  export SHARE=${SAMBA_SHARE:-/run/share}
  mkdir -p "$SHARE" "$SAMBA"/{private,state,cache,lock,pid,rpc} && chmod 777 "$SHARE" || return
  {
    printf '[global]\n server role = standalone server\n netbios name = LAB\n disable netbios = yes\n'
    printf ' smb ports = %s\n interfaces = lo\n bind interfaces only = yes\n load printers = no\n' "$port"
    printf ' private dir = %s\n state directory = %s\n cache directory = %s\n' "$SAMBA"/{private,state,cache}
    printf ' lock directory = %s\n pid directory = %s\n ncalrpc dir = %s\n' "$SAMBA"/{lock,pid,rpc}
    printf ' log file = %s\n max log size = 0\n log level = 1\n' "$log"
    for setting; do printf ' %s\n' "$setting"; done
    printf '[share]\n path = %s\n read only = no\n' "$SHARE"
  } >"$SAMBA/smb.conf"
  samba_user || return
  # It keeps what it was given as its standard error, for ever.
  smbd --daemon --configfile="$SAMBA/smb.conf" </dev/null >"$SAMBA/smbd.out" 2>&1 && await_port "$port" ||
    complain "smbd: $(tail -n 1 "$SAMBA/smbd.out") $(tail -n 3 "$log" 2>/dev/null)"
}

# samba_user    the user that shares are for, unless there is one
samba_user() {
  [ ! -e "$SAMBA/private/passdb.tdb" ] || return 0
  grep -q '^tester:' /etc/passwd || echo 'tester:x:60001:60001::/:/usr/sbin/nologin' >>/etc/passwd
  grep -q '^tester:' /etc/group || echo 'tester:x:60001:' >>/etc/group
  printf 'test123\ntest123\n' | smbpasswd -c "$SAMBA/smb.conf" -s -a tester >"$SAMBA/smbpasswd.log" 2>&1 ||
    complain "smbpasswd: $(tail -n 1 "$SAMBA/smbpasswd.log")"
}

# samba_stop [SIGNAL]    ends all processes of it, with SIGTERM unless said
samba_stop() {
  local group
  group=$(cat "$SAMBA/pid/smbd.pid") && kill -"${1:-TERM}" -- "-$group" && await "$patience" samba_is_gone "$group" &&
    rm -f "$SAMBA/pid/smbd.pid"
}
samba_is_gone() { ! pgrep -g "$1"; }

# samba_status [OPTION ...]    smbstatus, of this Samba
samba_status() { smbstatus --configfile="$SAMBA/smb.conf" "$@"; }

# samba_of PORT    the process that serves the connection which comes from this port of TCP
samba_of() {
  ss -Htnp state established "sport = :445 and dport = :$1" | sed -nE 's/.*pid=([0-9]+).*/\1/p' | head -n 1
}

# --- the kernel's client: cifs ----------------------------------------------------------------------------------------

# cifs_port    where cifs looks for SMB Direct first: at 5445, since Linux 7.2 only on iWARP
cifs_port() { if [ "$RDMA_KIND" = siw ] || [ "$(linux_known)" = 6.12 ]; then echo 5445; else echo 445; fi; }

# cifs_mount ADDRESS FOLDER [OPTIONS]    mounts //ADDRESS/share over SMB Direct; OPTIONS as of mount.cifs, for example
# port=4455. The client tries cifs_port and then 445 unless told.
cifs_mount() {
  mkdir -p "$2"
  timeout 60 mount -t cifs "//$1/share" "$2" -o "username=tester,password=test123,vers=3.1.1,rdma${3:+,$3}" ||
    complain "no mount of //$1/share: $(dmesg | grep -a CIFS | tail -n 3)"
}

# cifs_set NAME VALUE    a parameter of the client's SMB Direct, for example smbd_max_send_size; before mounting
cifs_set() {
  [ -w "/proc/fs/cifs/$1" ] || complain "the client has no parameter $1" || return
  echo "$2" >"/proc/fs/cifs/$1"
}

# --- our own side -----------------------------------------------------------------------------------------------------

# go_on    puts into `behind` the options with which a test program goes on behind the case at which an earlier guest ended
# ($RESUME_AFTER), for the reason $RESUME_WHY, if that is not in its report
go_on() {
  behind=()
  [ -z "$RESUME_AFTER" ] || behind=(--after "$RESUME_AFTER")
  [ -z "$RESUME_WHY" ] || behind+=(--lost "$RESUME_WHY")
}

# live TARGET [OPTION ...]    the tests of smbd-live for a target: ours, ksmbd, cifs or pair. It finds the device, the
# addresses and the side of a pair in the variables above.
live() {
  local behind filters
  read -ra filters <<<"$LIVE_FILTERS"
  go_on
  # Through a pipe: on the guest's console it would show progress, which belongs to a terminal.
  "$SMBD_LIVE" run --target "$@" --playing "$OUT/playing" ${behind[@]+"${behind[@]}"} "${filters[@]}" 2>&1 | cat
  local status=${PIPESTATUS[0]}
  # Nothing was played: `run` adds it up, and says so if that is all there is.
  [ "$status" != 3 ] || status=0
  return "$status"
}

# live_samba TARGET [OPTION ...]    the same for a target behind Samba and the gateway, which the tests start; skipped without Samba
live_samba() {
  with_samba || return 0
  rdma_loopback "$KIND" 1024 && live "$@"
}

# live_samba_on_broker TARGET [OPTION ...]    the same where smbd-broker has the gateway's connections
live_samba_on_broker() {
  with_samba || return 0
  # shellcheck source=files.sh
  . "$LAB/files.sh"
  rdma_loopback "$KIND" 1024 && broker_for_many && SMBD_LIVE_BROKER=true live "$@"
}

# mount_uncached SHARE FOLDER OPTIONS    the kernel's client mounts a share, without a cache
mount_uncached() {
  mkdir -p "$2"
  timeout 60 mount -t cifs "$1" "$2" -o "username=tester,password=test123,vers=3.1.1,cache=none,$3" ||
    complain "no mount of $1 ($3): $(dmesg | grep -a CIFS | tail -n 3)"
}

# suite OPTION ...    the conformance suite against a peer; with `--profile` it is held against what is known of the peer.
suite() {
  local behind status=0 filters
  read -ra filters <<<"$LIVE_FILTERS"
  has_cases || return 0
  go_on
  "${SMBD_LIVE%/*}/smbd-conformance" run --target verbs --limit 600 "$@" ${behind[@]+"${behind[@]}"} \
    --output "$OUT/suite.txt" "${filters[@]}" >"$OUT/counts.txt" 2>"$OUT/progress.txt" || status=$?
  sed 's/^/suite, /' "$OUT/counts.txt" | cat
  return "$status"
}

# has_cases    whether one case of the suite is wanted at least; otherwise that is skipped
has_cases() {
  local filters
  read -ra filters <<<"$LIVE_FILTERS"
  [ -z "$("${SMBD_LIVE%/*}/smbd-conformance" list "${filters[@]}" 2>/dev/null)" ] || return 0
  skip "cases of the suite" "none matches $LIVE_FILTERS"
  return 1
}

# sum_of_cases    the counts of a suite as other programs have them; what was not played is skipped
sum_of_cases() {
  awk -F ', ' 'sub(/^cases: /, "") {
    for (i = 1; i <= NF; i++) { number = $i + 0; sub(/^[0-9]+ /, "", $i); sub(/:.*/, "", $i); count[$i] = number }
    skipped = count["not judged"] + count["not applicable"] + count["left out"] + count["not reached"]
    print count["passed"] + 0 " passed, " count["failed"] + 0 " failed, " skipped " skipped"
  }'
}

# --- disks ------------------------------------------------------------------------------------------------------------

# disk NAME MIB [MILLISECONDS]    an ext4 of that size at /run/NAME, which everyone may write to; each request to its device takes so
# long. Does nothing if it is there.
disk() {
  local image=/run/$1.img device sectors
  [ ! -e "$image" ] || return 0
  mkdir "/run/$1" && truncate -s "$2M" "$image" && device=$(losetup --find --show "$image") || return
  mkfs.ext4 -q -m 0 "$device" || return
  if [ -n "${3:-}" ]; then
    sectors=$(blockdev --getsz "$device") || return
    # Without udev nobody else makes the node.
    DM_DISABLE_UDEV=1 dmsetup create "$1" --table "0 $sectors delay $device 0 $3" || return
    device=/dev/mapper/$1
  fi
  mount "$device" "/run/$1" && chmod 777 "/run/$1"
}

# --- looking on -------------------------------------------------------------------------------------------------------

# kernel_log    makes SMB Direct of both sides of the kernel talkative; it goes to dmesg.log
kernel_log() {
  local control=/sys/class/ksmbd-control/debug
  echo 0xffffffff >/sys/module/cifs/parameters/smbd_logging_class
  # Writing a name turns it over; the brackets mark what is on.
  grep -q '\[rdma\]' "$control" 2>/dev/null || echo rdma >"$control"
}

# capture_start NAME [FILTER]    all packets of the device, into $OUT/NAME.pcap. Within one guest siw speaks over `lo`;
# there, rxe reaches no interface: that takes a pair.
capture_start() {
  CAPTURE_LOG=$OUT/$1.tcpdump.log CAPTURE_NETDEV=$NETDEV
  if [ -z "$LAB_SIDE" ]; then
    [ "$RDMA_KIND" = siw ] || complain "within one guest nothing of rxe can be captured; take a pair" || return
    CAPTURE_NETDEV=lo
  fi
  tcpdump -i "$CAPTURE_NETDEV" -Z root -s 0 -B 32768 -w "$OUT/$1.pcap" "${@:2}" 2>"$CAPTURE_LOG" &
  CAPTURE_PID=$!
  await "$patience" grep -q listening "$CAPTURE_LOG"
}

# capture_stop    when all that was seen is in the file; fails if packets were lost
capture_stop() {
  await "$patience" capture_is_complete || return
  kill -INT "$CAPTURE_PID" && wait "$CAPTURE_PID"
  grep -q '^0 packets dropped by kernel' "$CAPTURE_LOG" || complain "the capture has gaps: $(tail -n 3 "$CAPTURE_LOG" | tr '\n' ' ')"
}

# The kernel hands packets over in blocks; until the last has come, fewer are "captured" than "received by filter".
capture_is_complete() {
  local before seen=1
  # What passes over `lo` is received twice and captured once.
  [ "$CAPTURE_NETDEV" != lo ] || seen=2
  before=$(wc -l <"$CAPTURE_LOG")
  kill -USR1 "$CAPTURE_PID" && await 2 has_more_lines "$CAPTURE_LOG" "$before" || return
  [[ $(tail -n 1 "$CAPTURE_LOG") =~ ([0-9]+)\ packets\ captured,\ ([0-9]+)\ packets\ received ]] &&
    [ $((seen * BASH_REMATCH[1])) = "${BASH_REMATCH[2]}" ]
}
has_more_lines() { [ "$(wc -l <"$1")" -gt "$2" ]; }

# --- pages whose commands are tried -------------------------------------------------------------------------------------
# Of a page, blocks of commands behind a mark are run word for word: `<!-- try -->`; `<!-- try until it succeeds -->`, over and over;
# `<!-- try with Samba -->`, if there is one.

# page_plays [FOLDER]    the blocks of the page on the standard input, each of them a check, until one fails; as somebody types them, in
# FOLDER (/run/page), whose programs are found first. Their count is added to `page_blocks`.
page_plays() {
  local at name how folder=${1:-/run/page} hows=() blocks=()
  page_read
  page_blocks=$((${page_blocks:-0} + ${#blocks[@]}))
  for at in "${!blocks[@]}"; do
    how=${hows[at]} name=${blocks[at]%%$'\n'*}
    case "$how" in
      try) check "$name" page_types "${blocks[at]}" || return ;;
      'try until it succeeds') check "$name" await "$patience" page_types "${blocks[at]}" || return ;;
      'try with Samba') if with_samba; then check "$name" page_types "${blocks[at]}" || return; fi ;;
      *) check "$name" complain "no such mark: $how" || return ;;
    esac
  done
}

# page_read    into `hows` and `blocks` the commands of the page, and how they are tried
page_read() {
  local line how='' is_in=false
  while IFS= read -r line; do
    case "$line" in
      '<!-- try'*) how=${line#<!-- } && how=${how% -->} ;;
      '```sh') [ -z "$how" ] || { is_in=true && hows+=("$how") && blocks+=('') && how=''; } ;;
      '```') is_in=false ;;
      *) ! $is_in || blocks[-1]+=$line$'\n' ;;
    esac
  done
}

# page_types TEXT    a block as somebody types it; the first command that fails ends it
page_types() { (cd "$folder" && PATH=$folder:$PATH bash -ec "$1" </dev/null); }

# --- a tester of file systems: fsx --------------------------------------------------------------------------------------

# with_fsx    whether fsx is there; if not, what needs it is skipped
with_fsx() {
  [ -x "$LAB_CACHE/fsx/bin/fsx" ] || { skip "fsx" "it is not in $LAB_CACHE/fsx: $LAB/setup says why" && return 1; }
}

# fsx_plays FILE OPERATIONS cached|uncached [SEED]    random operations on a new file: reads and writes (also through memory, if the client
# has a cache), cuts, copies of ranges, advice, closing and opening, syncing; each byte read is the one that was written. What it says is in
# $OUT/fsx.log, and the file that there should be in $OUT if it fails.
fsx_plays() {
  local mapped=5
  [ "$3" = cached ] || mapped=0
  cat >/run/fsx.toml <<TEXT
flen = 3000000
[opsize]
max = 200000
[weights]
close_open = 1
read = 10
write = 10
mapread = $mapped
mapwrite = $mapped
invalidate = $((mapped / 5))
truncate = 5
fsync = 1
fdatasync = 1
sendfile = 3
posix_fadvise = 1
copy_file_range = 2
TEXT
  echo "fsx, $3, $2 operations, seed ${4:-1}" >>"$OUT/fsx.log"
  timeout 1200 "$LAB_CACHE/fsx/bin/fsx" -f /run/fsx.toml -N "$2" -S "${4:-1}" -P "$OUT" "$1" >>"$OUT/fsx.log" 2>&1 ||
    complain "fsx: $(tail -n 3 "$OUT/fsx.log" | tr '\n' ' ')"
}

# --- results ----------------------------------------------------------------------------------------------------------

checks_passed=0 checks_failed=0 checks_skipped=0

# check NAME COMMAND [ARGUMENT ...]    one test: prints what came of it; the command's output only if it failed. Its status
# is the command's.
check() {
  local name=$1 log=/run/check.log started=$SECONDS status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    checks_passed=$((checks_passed + 1))
    echo "test $name ... ok ($((SECONDS - started)) s)"
  else
    checks_failed=$((checks_failed + 1))
    echo "test $name ... FAILED ($((SECONDS - started)) s): $(tail -n 1 "$log")"
    sed 's/^/    /' "$log"
  fi
  return "$status"
}

# skip NAME REASON    one test that cannot be made here
skip() {
  checks_skipped=$((checks_skipped + 1))
  echo "test $1 ... skipped: $2"
}

# checks_done    the last command of a script: the sum, and its status
checks_done() {
  echo "$checks_passed passed, $checks_failed failed, $checks_skipped skipped"
  [ "$checks_failed" = 0 ]
}

# listen_for_notices    what systemd would hear: a program is started with NOTIFY_SOCKET=/run/notify
listen_for_notices() {
  perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0) && bind(S, sockaddr_un("/run/notify")) || die; $| = 1;
    while (defined recv(S, $text, 4096, 0)) { $text =~ tr/\n/ /; print "$text\n" }' >"$OUT/notified" &
  await "$patience" test -S /run/notify && chmod 666 /run/notify
}

# notified TEXT    whether it was told
notified() { grep -aq -- "$1" "$OUT/notified"; }

# as_nobody CAPABILITIES ...    what systemd makes of the unit: another user, with these capabilities and no other
as_nobody() {
  local capabilities=-all$1
  shift
  ulimit -l unlimited
  exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps "$capabilities" \
    --ambient-caps "$capabilities" --bounding-set "$capabilities" "$@"
}
