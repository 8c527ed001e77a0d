//! Every parser of section 2 and the IRD/ORD header.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(wire);
