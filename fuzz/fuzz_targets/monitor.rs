//! What two connections say to each other, judged by the conformance monitor.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(monitor);
