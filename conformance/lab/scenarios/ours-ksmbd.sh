# shellcheck shell=bash
about="smbd-verbs as client of ksmbd"
native="siw rxe"
guests=1
limit=900

scenario() { rdma_loopback "$KIND" 1024 && ksmbd_start && kernel_log && live ksmbd; }
