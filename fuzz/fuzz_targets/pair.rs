//! Two connections and their hosts, joined by devices and a network that do their worst.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(pair);
