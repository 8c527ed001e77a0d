//! One connection, fed any inputs and calls, from any phase.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(connection);
