//! A client of SMB2 and a server that says anything.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(smb2_client);
