# shellcheck shell=bash
# What the commands of the lab share. Runs on this machine, never in a guest.

lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/smbd-lab

# Exit codes of `guest` and `pair` beside the script's own; `timeout` and `env` use the first and the last alike.
status_usage=2
status_time=124
status_crash=125
status_lab=126

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$1" && exit "${2:-$status_lab}"; }

# What a kernel writes when it dies. A warning is not among it: the kernel goes on after one.
crash_pattern='Kernel panic - not syncing|BUG: |kernel BUG at|Oops: |general protection fault|KASAN: '

# need_value OPTION [VALUE]
need_value() { [ -n "${2:-}" ] || die "$1 needs a value; see --help" "$status_usage"; }
# need_number OPTION VALUE
need_number() {
  [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "$1 needs a positive number, not '${2:-}'; see --help" "$status_usage"
}

need_qemu() {
  # A guest runs this machine's programs.
  [ "$(uname -m)" = x86_64 ] || die "the lab is for x86_64, this is $(uname -m)"
  command -v qemu-system-x86_64 >/dev/null ||
    die "qemu-system-x86_64 is missing: run $lab/setup (Debian package qemu-system-x86)"
}

# qemu_kernel    prints the kernel of virtual machines that SMBD_LAB_KERNEL names, or that was built here; nothing if there is none
qemu_kernel() {
  local kernel=${SMBD_LAB_KERNEL:-}
  if [ -n "$kernel" ]; then
    [ -f "$kernel" ] || die "SMBD_LAB_KERNEL=$kernel: no such file; name a bzImage, or unset the variable and run
SMBD_LAB_MACHINE=qemu $lab/setup, which builds one"
    realpath "$kernel"
  else
    "$lab/kernel/build" --where || true
  fi
}

find_kernel() {
  local kernel
  kernel=$(qemu_kernel) || exit
  [ -n "$kernel" ] || die "there is no kernel for virtual machines yet: run SMBD_LAB_MACHINE=qemu $lab/setup, which builds one in some
minutes, or set SMBD_LAB_KERNEL to a bzImage made with common.config and qemu.config of $lab/kernel"
  echo "$kernel"
}

# native_kernel    prints the kernel of native guests that SMBD_LAB_KERNEL_UML names, or that was built here; nothing if there is none
native_kernel() {
  local kernel=${SMBD_LAB_KERNEL_UML:-}
  if [ -n "$kernel" ]; then
    [ -x "$kernel" ] || die "SMBD_LAB_KERNEL_UML=$kernel: no such program; name a user-mode Linux, or unset the variable and run
SMBD_LAB_MACHINE=uml $lab/setup, which builds one"
    realpath "$kernel"
  else
    "$lab/kernel/build" --native --where || true
  fi
}

find_native_kernel() {
  local kernel
  kernel=$(native_kernel) || exit
  [ -n "$kernel" ] || die "there is no kernel for native guests yet: run SMBD_LAB_MACHINE=uml $lab/setup, which builds one in some
minutes, or set SMBD_LAB_KERNEL_UML to a user-mode Linux made with common.config and native.config of $lab/kernel"
  echo "$kernel"
}

# native_works KERNEL    whether a native guest comes as far as its first program here: where filters of system calls or tracing are
# forbidden, it does not. Tried once for each kernel and boot of this machine.
native_works() {
  local verdict said
  verdict=$cache/native-$(cat /proc/sys/kernel/random/boot_id)-$(stat -L -c %d-%i-%Y "$1")
  if [ ! -f "$verdict" ]; then
    # The first program ends at once, and with it the kernel: in a panic that has its status.
    said=$(timeout -k 1 10 "$1" mem=128M seccomp=on root=/dev/root rootfstype=hostfs rootflags=/ ro init=/bin/true panic=-1 \
      con=null con0=null,fd:1 ssl=null </dev/null 2>/dev/null | tr -d '\0') || true
    mkdir -p "$cache" && find "$cache" -maxdepth 1 -name 'native-*' ! -name "native-$(cat /proc/sys/kernel/random/boot_id)-*" -delete
    if [[ $said == *'Attempted to kill init! exitcode=0x00000000'* ]]; then said=yes; else said=no; fi
    # Whole or not at all: other guests may be starting.
    echo "$said" >"$verdict.$$" && mv "$verdict.$$" "$verdict"
  fi
  [ "$(cat "$verdict")" = yes ]
}

# find_machine [KIND]    the kind of guest: this one, or SMBD_LAB_MACHINE, or qemu
find_machine() {
  local kind=${1:-${SMBD_LAB_MACHINE:-qemu}}
  case "$kind" in
    uml | qemu) echo "$kind" ;;
    *) die "the kind of guest is uml or qemu, not '$kind'" "$status_usage" ;;
  esac
}

# Of each kind of guest the release of Linux that setup builds: by it `--linux` of `run` names the kind.
declare -A built_linux=([qemu]=6.12 [uml]=7.3)

# machine_with RELEASE    prints the kind of guest that has this Linux; nothing if none has
machine_with() {
  local kind
  for kind in "${!built_linux[@]}"; do if [ "${built_linux[$kind]}" = "$1" ]; then echo "$kind"; fi; done
}

# linux_of KIND    prints the release of the Linux of these guests: what the kernel says itself, since variables can name any; that of the
# package if none is built yet
linux_of() {
  local kernel release='' at
  if [ "$1" = uml ]; then
    kernel=$(native_kernel) || exit
    [ -z "$kernel" ] || release=$("$kernel" --version 2>/dev/null)
  else
    kernel=$(qemu_kernel) || exit
    # kernel_version of the header of a bzImage (Documentation/arch/x86/boot.rst).
    [ -z "$kernel" ] || { at=$(od -An -tu2 -j 526 -N 2 "$kernel") && release=$(tail -c "+$((at + 513))" "$kernel" | head -c 64 | sed -zn 's/ .*//p;q' | tr -d '\0'); }
  fi
  echo "${release:-${built_linux[$1]}}"
}

# has_native_guests    whether there is a kernel for them, and it works here
has_native_guests() {
  local kernel
  kernel=$(native_kernel) && [ -n "$kernel" ] && native_works "$kernel"
}

# find_accelerator KERNEL    prints kvm or tcg. That /dev/kvm opens does not say that a guest runs on it (nested
# machines), so it is tried once for each boot of this machine: the kernel without a root has to reach its panic.
find_accelerator() {
  local verdict said
  if [ -n "${SMBD_LAB_ACCEL:-}" ]; then
    case "$SMBD_LAB_ACCEL" in
      kvm | tcg) echo "$SMBD_LAB_ACCEL" && return ;;
      *) die "SMBD_LAB_ACCEL=$SMBD_LAB_ACCEL: it can be kvm or tcg" ;;
    esac
  fi
  { [ -r /dev/kvm ] && [ -w /dev/kvm ]; } || { echo tcg && return; }
  verdict=$cache/kvm-$(cat /proc/sys/kernel/random/boot_id)
  if [ -f "$verdict" ]; then cat "$verdict" && return; fi
  said=$(timeout -k 1 5 qemu-system-x86_64 -accel kvm -cpu max -M q35 -m 256 -nodefaults -display none -serial stdio \
    -no-reboot -kernel "$1" -append 'console=ttyS0 panic=-1' </dev/null 2>/dev/null | tr -d '\0') || true
  mkdir -p "$cache" && rm -f "$cache"/kvm-*
  if [[ $said == *'Kernel panic'* ]]; then said=kvm; else said=tcg; fi
  # Whole or not at all: other guests may be starting.
  echo "$said" >"$verdict.$$" && mv "$verdict.$$" "$verdict"
  echo "$said"
}

# new_folder    prints a new folder for the files of a run
new_folder() { mktemp -d "${TMPDIR:-/tmp}/smbd-lab.XXXXXX"; }

# measured_commit CHECKOUT CRATE...    the last commit that changed what programs of these crates are made of
measured_commit() {
  local checkout=$1
  shift
  git -C "$checkout" log -1 --format=%h --abbrev=8 -- "${@/%//src}" Cargo.toml Cargo.lock
}

# put_table PAGE NAME TABLE    puts a file between the marks `<!-- NAME -->` and `<!-- end -->` of a page
put_table() {
  local new
  new=$(mktemp)
  awk -v name="$2" -v table="$3" '
    $0 == "<!-- " name " -->" { print; while ((getline line < table) > 0) print line; inside = 1; next }
    $0 == "<!-- end -->" { inside = 0 }
    !inside { print }
  ' "$1" >"$new" && cat "$new" >"$1" && rm -f "$new"
}
