# shellcheck shell=bash
# smbd-perf against perftest on the same device.
# programs: smbd-live smbd-perf smbd-echo
rdma_loopback "$KIND" 4096 || exit 126
# perftest wants to know how fast the processor is, and measures it itself. A native guest does not say.
if ! grep -q 'cpu MHz' /proc/cpuinfo; then
  { cat /proc/cpuinfo && echo 'cpu MHz : 2000.000'; } >/run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo || exit 126
fi
"$PROGRAMS/smbd-live" compare --address "$ADDRESS" --rounds "$ROUNDS" >"$OUT/table"
