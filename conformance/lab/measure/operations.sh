# shellcheck shell=bash
# What programs do for one operation over RDMA, with one and with 16 under way: everything is played with few operations and with many, under callgrind and
# under strace. The difference is what the operations take; what a connection takes to begin and to end is in both.
# programs: smbd-gateway smbd-cp smbd-serve smbd-broker
FEW=8 MANY=$((COUNT + 8))

# subject NAME [PROGRAM ...]    starts the program that is counted, which PROGRAM starts, and what it needs; FOLDER is where it is used, and
# PLACE the same for smbd-cp
subject() {
  local name=$1
  shift
  case "$name" in
    gateway) gateway gateway 10.9.0.3 127.0.0.1:4455 "$@" && mounted /mnt/gateway 10.9.0.3 numbers && FOLDER=/mnt/gateway RUNNING=("$PID") ;;
    serve) in_process "$@" && FOLDER=/mnt/serve RUNNING=("$SERVE_PID") ;;
    broker) broker "$@" && owner && FOLDER=/mnt/broker RUNNING=("$OWNER_PID" "$BROKER_PID") ;;
    owner) broker && owner "$@" && FOLDER=/mnt/broker RUNNING=("$OWNER_PID" "$BROKER_PID") ;;
  esac || return
  case "$name" in
    gateway) PLACE=10.9.0.3:$(ksmbd_port)/numbers/file ;;
    serve) PLACE=$ADDRESS:$(ksmbd_port)/share/file ;;
    broker | owner) PLACE=10.9.0.2:$(ksmbd_port)/share/file ;;
  esac
}

# plays VERB SIZE COUNT    so many operations of the kernel's client, one after the other
plays() {
  case "$1" in
    read) dd "if=$FOLDER/file" of=/dev/null "bs=$2" "count=$3" iflag=direct status=none ;;
    write) dd if=/dev/zero "of=$FOLDER/file" "bs=$2" "count=$3" oflag=direct conv=notrunc status=none ;;
  esac
}

# copies FILE VERB SIZE RUN AT_ONCE [PROGRAM ...]    operations of smbd-cp at PLACE, which is told how long to play, not how often
copies() {
  local seconds=0.1
  [ "$4" = few ] || seconds=2
  SMBD_PASSWORD=test123 "${@:6}" "$PROGRAMS/smbd-cp" perf "$2" "rdma://tester@$PLACE" --size "$3" --at-once "$5" --time "$seconds" --json \
    >"$1.json" 2>"$1.log" || complain "smbd-cp: $(tail -n 3 "$1.log")" || return
  sed 's/.*"operations":\([0-9]*\).*/\1/' "$1.json" >"$1.operations"
}

# counted TOOL NAME VERB SIZE PROGRAM ...    both runs of one cell; FILE in PROGRAM is where the tool writes. NAME is that of a subject, or cp,
# for one operation under way, and with -16 for as many of smbd-cp
counted() {
  local tool=$1 name=$2 verb=$3 size=$4 at_once=1 run file
  shift 4
  [ "$name" = "${name%-16}" ] || at_once=16
  for run in few many; do
    file=$OUT/$tool-$name-$verb-$size-$run
    if [ "${name%-16}" = cp ]; then
      copies "$file" "$verb" "$size" "$run" "$at_once" "${@/FILE/$file.out}" || return
      continue
    fi
    subject "${name%-16}" "${@/FILE/$file.out}" || return
    if [ "$at_once" = 16 ]; then
      copies "$file" "$verb" "$size" "$run" 16 || return
    else
      if [ "$run" = few ]; then echo "$FEW"; else echo "$MANY"; fi >"$file.operations"
      plays "$verb" "$size" "$(cat "$file.operations")" || return
    fi
    umount "$FOLDER" && ends "${RUNNING[@]}" || return
  done
}

# tools NAME VERB SIZE
tools() {
  counted callgrind "$@" "${VALGRIND[@]}" --tool=callgrind --callgrind-out-file=FILE && counted strace "$@" strace -f -yy -o FILE
}

# Debian 12's valgrind has no openat2, without which smbd-serve opens nothing.
VALGRIND=(valgrind)
newer=$LAB_CACHE/valgrind/usr
[ ! -d "$newer" ] || VALGRIND=(env "VALGRIND_LIB=$newer/libexec/valgrind" "$newer/bin/valgrind.bin")
# On an ext4 as servers have them: what a file system can read without waiting is no property of tmpfs.
rdma_loopback "$KIND" 4096 && disk "$(basename "$NUMBERS")" $((SIZE_MAX * MANY / 1048576 + 64)) && samba || exit 126
head -c $((SIZE_MAX * MANY)) /dev/zero >"$NUMBERS/file" && chmod 666 "$NUMBERS/file" || exit 126
for size in ${SIZES//,/ }; do
  for verb in read write; do
    for name in {gateway,serve,owner,broker}{,-16}; do
      tools "$name" "$verb" "$size" || exit 126
    done
    # Its server is the one that is served by RDMA in its own process.
    subject serve && umount /mnt/serve || exit 126
    for name in cp cp-16; do
      tools "$name" "$verb" "$size" || exit 126
    done
    ends "$SERVE_PID" || exit 126
  done
done
