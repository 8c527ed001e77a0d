//! Data of plain LZ77.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(lz77);
