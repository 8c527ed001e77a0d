# shellcheck shell=bash
about="the conformance suite against cifs, held against what is known of it"
guests=1
limit=3000
long=yes
resumes=suite

scenario() {
  local options mount copy
  rdma_loopback "$KIND" 1024 && kernel_log && mkdir -p /mnt/share || return
  # Each mount has a connection of its own. What it copies comes back: the script answers its READs, and sees the WRITEs.
  options="username=tester,password=test123,vers=3.1.1,rdma,nosharesock,cache=none,actimeo=0"
  mount="mount -t cifs //$ADDRESS/share /mnt/share -o $options"
  # An upper layer that returns messages is not looked for: cifs may hang when a connection ends while it mounts.
  # A mount that hangs does so for good, and all behind it.
  # In messages of its own instead of RDMA. One at a time: when the script ends a connection under several, they may hang for good.
  copy='dd if=/mnt/share/in of=/mnt/share/out bs=126976 iflag=direct oflag=direct'
  echo 1048576 >/proc/fs/cifs/rdma_readwrite_threshold
  suite --profile "linux-$(linux_known)" --listen "$ADDRESS:$(cifs_port)" --upper smb2 --restart-wait 0 --trigger "$mount && exec $copy" --trigger-end 'umount -fl /mnt/share'
}
