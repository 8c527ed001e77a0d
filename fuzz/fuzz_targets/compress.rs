//! Messages that are compressed and decompressed.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(compress);
