# shellcheck shell=bash
about="the conformance suite against cifs, held against what is known of it"
guests=1
limit=3000
long=yes
resumes=suite

scenario() {
  rdma_loopback "$KIND" 1024 && kernel_log && mkdir -p /mnt/share || return
  # Each mount has a connection of its own, and ends when that does or when it is killed: nobody answers its SMB2.
  suite --listen "$ADDRESS:5445" --trigger \
    "exec mount -t cifs //$ADDRESS/share /mnt/share -o username=tester,password=test123,vers=3.1.1,rdma,nosharesock"
}
