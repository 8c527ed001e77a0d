//! Messages of SMB2, read and built again.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(smb2);
