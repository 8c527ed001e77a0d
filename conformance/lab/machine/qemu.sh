# shellcheck shell=bash
# A guest as a virtual machine: its files are the host's over 9p. Sourced by `guest`.

# Sets `start`, what starts the machine.
machine_start() {
  local kernel accelerator pace=() kernel_line
  need_qemu
  kernel=$(find_kernel) && accelerator=$(find_accelerator "$kernel") || exit
  if $steady; then
    accelerator=tcg,thread=single smp=1 pace=(-icount "shift=0,sleep=off")
  fi
  [[ $out != *,* ]] || die "$out: the path of the folder must not contain a comma, QEMU takes it for an end" "$status_usage"
  kernel_line=(
    # Without the last one a kernel that gets too little of the processor as it boots takes its timer for broken, and panics.
    console=ttyS0 "${kernel_words[@]}" no_timer_check
    root=/dev/root rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=262144,cache=loose
  )
  start=(
    qemu-system-x86_64
    -accel "$accelerator" ${pace[@]+"${pace[@]}"} -cpu max -smp "$smp" -m "$mem" -M q35 -nodefaults -display none -no-reboot
    -chardev "file,id=console,path=$files/console.log" -serial chardev:console
    -chardev stdio,id=output,signal=off -serial chardev:output
    -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap
    -device virtio-9p-pci,fsdev=root,mount_tag=/dev/root
    -fsdev "local,id=out,path=$out,security_model=none" -device virtio-9p-pci,fsdev=out,mount_tag=out
    -device virtio-rng-pci -kernel "$kernel" -append "${kernel_line[*]}"
  )
  [ -z "$link" ] || start+=(-netdev "stream,id=link,addr.type=unix,$link" -device "virtio-net-pci,netdev=link,romfile=,mac=$mac")
}
