# shellcheck shell=bash
about="the conformance suite against smbd-core over this device"
guests=1
limit=3000
long=yes

scenario() {
  local filters
  read -ra filters <<<"$LIVE_FILTERS"
  rdma_loopback "$KIND" 4096 || return
  # Its progress through a pipe: a line for each case. The report is there when the guest's time runs out, too.
  "${SMBD_LIVE%/*}/smbd-conformance" run --target verbs --address "$ADDRESS" --no-timers --format json \
    --output "$OUT/suite.json" "${filters[@]}" 2>&1 | tee "$OUT/suite.txt"
  local status=${PIPESTATUS[0]}
  # As the others count: cases that were played.
  sed -nE 's/^cases: ([0-9]+) passed, ([0-9]+) failed.*/\1 passed, \2 failed/p' "$OUT/suite.txt"
  return "$status"
}
