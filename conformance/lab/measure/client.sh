# shellcheck shell=bash
# Reads and writes of ksmbd's share: by smbd-cp over RDMA, by the kernel's client over RDMA and over TCP (direct I/O).
# programs: smbd-live smbd-perf smbd-echo smbd-cp
rdma_loopback "$KIND" 4096 && ksmbd_start && mounted /mnt/rdma "$ADDRESS" share || exit 126
mount_uncached "//$ADDRESS/share" /mnt/tcp port=445 || exit 126
SMBD_PASSWORD=test123 numbers smbd-cp="rdma://tester@$ADDRESS:$KSMBD_PORT/share" ksmbd-rdma=/mnt/rdma ksmbd=/mnt/tcp
