//! Data of LZ77+Huffman.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(huffman);
