//! A gateway the other way round between any two sides.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(reverse);
