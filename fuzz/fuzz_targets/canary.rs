//! Has to fail: a connection that grants one credit too many now and then.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(canary);
