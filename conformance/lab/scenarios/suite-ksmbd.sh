# shellcheck shell=bash
about="the conformance suite against ksmbd, held against what is known of it"
guests=1
limit=3000
long=yes
resumes=suite

scenario() { rdma_loopback "$KIND" 1024 && ksmbd_start && kernel_log && suite --profile linux-6.12 --connect "$ADDRESS:$KSMBD_PORT" --share share; }
