//! Well-formed captures of any messages: written, decoded, judged.
#![cfg_attr(fuzzing, no_main)]

smbd_fuzz::target!(messages);
