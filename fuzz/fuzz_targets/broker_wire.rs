//! Packets between a broker and its owners.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(broker_wire);
