//! Data of LZNT1.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(lznt1);
