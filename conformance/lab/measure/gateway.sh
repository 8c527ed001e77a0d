# shellcheck shell=bash
# Direct reads and writes of the kernel's client: through smbd-gateway to Samba and to a server in memory, to both over TCP, and to ksmbd.
# programs: smbd-live smbd-perf smbd-echo smbd-gateway
ksmbd_over_rdma && rdma_loopback "$KIND" 4096 && address 10.9.0.4 && samba || exit 126
starts memory listening "$PROGRAMS/smbd-live" memory 127.0.0.1:4466 || exit 126
gateway gateway-samba 10.9.0.2 127.0.0.1:4455 && before_samba=$PID || exit 126
gateway gateway-memory 10.9.0.3 127.0.0.1:4466 && before_memory=$PID || exit 126

mounted /mnt/gateway-samba 10.9.0.2 5450 numbers || exit 126
mount_uncached //127.0.0.1/numbers /mnt/samba port=4455 || exit 126
mounted /mnt/ksmbd-rdma 10.9.0.4 "$KSMBD_PORT" share || exit 126
mount_uncached //127.0.0.1/share /mnt/ksmbd port=445 || exit 126
mounted /mnt/gateway-memory 10.9.0.3 5450 share || exit 126
mount_uncached //127.0.0.1/share /mnt/memory port=4466 || exit 126
status=0
numbers gateway-samba="/mnt/gateway-samba,$before_samba" samba=/mnt/samba ksmbd-rdma=/mnt/ksmbd-rdma ksmbd=/mnt/ksmbd \
  gateway-memory="/mnt/gateway-memory,$before_memory" memory=/mnt/memory || status=$?
for name in gateway-samba gateway-memory; do
  says 'client session .*session=rdma' "$OUT/$name.log" || { complain "$name: no RDMA" && status=126; }
done
exit "$status"
