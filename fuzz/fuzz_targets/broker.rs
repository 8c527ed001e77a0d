//! A broker between owners and clients that do what they like.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(broker);
