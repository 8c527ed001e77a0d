//! Strict and tolerant mode, told the same.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(modes);
