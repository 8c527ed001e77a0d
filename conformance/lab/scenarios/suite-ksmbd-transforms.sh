# shellcheck shell=bash
about="the suite's cases of RDMA transforms against ksmbd, held against what is known of it"
native="siw rxe"
guests=1
limit=900
whole=yes
resumes=suite

scenario() {
  linux_is 7 3 || { skip "RDMA transforms" "ksmbd of Linux $(uname -r) has none" && return; }
  rdma_loopback "$KIND" 1024 && ksmbd_start && kernel_log || return
  # For the guest of some cases and the user of others.
  (umask 000 && touch "$SHARE/smbd-conformance-channel.tmp") || return
  export SMBD_PASSWORD=test123
  LIVE_FILTERS='Smb2OverRdmaChannelTransform_ smb2::a_write_under_a_transform'
  suite --profile linux-6.12 --connect "$ADDRESS:$KSMBD_PORT" --share share --user tester
}
