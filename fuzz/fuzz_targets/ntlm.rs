//! Messages of NTLM, read and answered.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(ntlm);
