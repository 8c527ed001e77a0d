//! RDMA operations over any descriptors, cut into requests.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(slice);
