# shellcheck shell=bash
# A guest as a program of this machine: user-mode Linux, whose files are the host's (hostfs). Sourced by `guest`.

# Sets `start`, what starts the machine.
machine_start() {
  local kernel
  kernel=$(find_native_kernel) || exit
  # With two processors, threads of RDMA devices spin for ever.
  start=(
    "$kernel" "mem=${mem}M" seccomp=on "${kernel_words[@]}"
    root=/dev/root rootfstype=hostfs rootflags=/ "LAB_OUT=$out"
    # The script's output has the second line: that of this process. Kernel and consoles have the first.
    "con0=null,fd:6" "con1=null,fd:5" con=null ssl=null
  )
  # As much as lib.sh ever asks for: it cannot be raised later.
  [ -z "$link" ] || start+=("vec0:transport=bess,dst=$link,mtu=4200,mac=$mac" "LAB_NETDEV=vec0")
}
