//! Compressed messages.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(decompress);
