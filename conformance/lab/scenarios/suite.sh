# shellcheck shell=bash
about="the conformance suite against smbd-core over this device"
guests=1
limit=3000
long=yes

scenario() {
  local filters
  read -ra filters <<<"$LIVE_FILTERS"
  has_cases || return 0
  rdma_loopback "$KIND" 4096 || return
  # Its progress through a pipe: a line for each case. The report is there when the guest's time runs out, too.
  "${SMBD_LIVE%/*}/smbd-conformance" run --target verbs --address "$ADDRESS" --no-timers --format json \
    --output "$OUT/suite.json" "${filters[@]}" 2>&1 | tee "$OUT/suite.txt"
  local status=${PIPESTATUS[0]}
  sum_of_cases <"$OUT/suite.txt"
  return "$status"
}
