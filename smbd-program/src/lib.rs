//! What all programs of smbd have in common.
//!
//! A program begins with [`output::options`], or with [`outlive_file_size`] if it reads its command line in another way. Rust has SIGPIPE
//! ignored before that.
//!
//! | what happens | what a program does |
//! |---|---|
//! | the reader of standard output is gone | it drops what follows; the exit status is still the result |
//! | standard output cannot be written: a full disk, RLIMIT_FSIZE | it says so on standard error; the exit status is not 0 |
//! | standard error cannot be written | it drops the text |
//! | a file becomes longer than RLIMIT_FSIZE | the write fails with EFBIG ("File too large"), as on a full disk |
//! | a line of the log of a server cannot be written | the server drops the line and goes on |
//! | completions for a shell, or the manual, are asked for | it prints them ([`pages`]) |
//! | a password is needed | it is asked for at the terminal, which does not show it ([`password`]) |

pub mod output;
pub mod pages;
pub mod password;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on a file past RLIMIT_FSIZE is an error of the write (EFBIG), and SIGXFSZ does not end the process. Programs that it starts
/// have the default again.
///
/// # Errors
/// Those of the system.
pub fn outlive_file_size() -> io::Result<()> {
    // The handler stays. Nobody looks at the flag: the write tells.
    let nobody = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, nobody).map(drop)
}
