# shellcheck shell=bash
# smbd-perf against perftest on the same device.
# programs: smbd-live smbd-perf smbd-echo
rdma_loopback "$KIND" 4096 || exit 126
"$PROGRAMS/smbd-live" compare --address "$ADDRESS" --rounds "$ROUNDS" >"$OUT/table"
