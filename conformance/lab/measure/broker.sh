# shellcheck shell=bash
# Direct reads and writes of the kernel's client over RDMA to one directory: to smbd-serve with RDMA in its own process, to smbd-serve on
# smbd-broker, and through smbd-gateway to smbd-serve over TCP.
# programs: smbd-live smbd-perf smbd-echo smbd-serve smbd-broker smbd-gateway
rdma_loopback "$KIND" 4096 && in_process && broker && owner && behind_gateway || exit 126
status=0
numbers serve=/mnt/serve broker=/mnt/broker gateway-serve=/mnt/gateway-serve || status=$?
# Data must have gone by RDMA on each way, as its server says.
umount /mnt/serve /mnt/broker /mnt/gateway-serve || exit 126
await "$patience" says 'INFO client ended .* over=rdma .* rdma_out=[1-9]' "$OUT/serve.log" &&
  await "$patience" says 'INFO client ended .* over=broker .* rdma_out=[1-9]' "$OUT/owner.log" &&
  await "$patience" says 'client ended .*session=rdma' "$OUT/gateway.log" || status=126
exit "$status"
