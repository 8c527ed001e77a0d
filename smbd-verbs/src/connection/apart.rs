//! Completions, waited for apart from everything else.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::VerbsConnection;
use crate::Error;

impl VerbsConnection {
    /// Takes the completion channel out of the one descriptor, and returns a duplicate of it; `None` as long as there is none.
    pub(crate) fn split_completions(&self) -> Result<Option<OwnedFd>, Error> {
        let Some(open) = &self.open else { return Ok(None) };
        let channel = open.qp.completion_fd();
        let duplicate = channel.try_clone_to_owned().map_err(|error| failed(&error))?;
        self.wake.remove_completions(channel)?;
        Ok(Some(duplicate))
    }

    /// Undoes that.
    pub(crate) fn join_completions(&self) -> Result<(), Error> {
        let Some(open) = &self.open else { return Ok(()) };
        self.wake.add_completions(open.qp.completion_fd())
    }

    /// The completion channel was readable.
    pub(crate) fn take_completion_event(&mut self) {
        if let Some(open) = &mut self.open {
            open.take_event();
        }
    }
}

fn failed(error: &io::Error) -> Error {
    Error::system("dup", error.raw_os_error().map_or(Errno::MFILE, Errno::from_raw_os_error))
}
