//! A server of SMB2 and any client.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(smb2_server);
