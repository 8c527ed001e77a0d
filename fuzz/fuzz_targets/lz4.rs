//! Blocks of LZ4.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(lz4);
