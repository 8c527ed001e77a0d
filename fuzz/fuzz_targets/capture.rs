//! Files as the capture decoder and the monitor get them.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(capture);
