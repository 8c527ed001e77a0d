# shellcheck shell=bash
# Direct reads and writes of the kernel's client: through smbd-gateway to Samba and to a server in memory, and to both over TCP.
# programs: smbd-live smbd-perf smbd-echo smbd-gateway
rdma_loopback "$KIND" 4096 && samba || exit 126
starts memory listening "$PROGRAMS/smbd-live" memory 127.0.0.1:4466 || exit 126
gateway gateway-samba 10.9.0.2 127.0.0.1:4455 && before_samba=$PID || exit 126
gateway gateway-memory 10.9.0.3 127.0.0.1:4466 && before_memory=$PID || exit 126

mounted /mnt/gateway-samba 10.9.0.2 numbers || exit 126
mount_uncached //127.0.0.1/numbers /mnt/samba port=4455 || exit 126
mounted /mnt/gateway-memory 10.9.0.3 share || exit 126
mount_uncached //127.0.0.1/share /mnt/memory port=4466 || exit 126
status=0
numbers gateway-samba="/mnt/gateway-samba,$before_samba" samba=/mnt/samba \
  gateway-memory="/mnt/gateway-memory,$before_memory" memory=/mnt/memory || status=$?
for name in gateway-samba gateway-memory; do
  says 'client ended .*session=rdma' "$OUT/$name.log" || { complain "$name: no RDMA" && status=126; }
done
exit "$status"
