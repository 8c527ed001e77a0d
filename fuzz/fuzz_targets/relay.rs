//! A gateway between any two sides.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(relay);
