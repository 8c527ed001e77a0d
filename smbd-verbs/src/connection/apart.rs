//! Completions, waited for apart from everything else.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::VerbsConnection;
use crate::Error;
use crate::tokio::Told;

impl Told for VerbsConnection {
    fn split_completions(&mut self) -> Result<Option<OwnedFd>, Error> {
        let Some(open) = &self.open else { return Ok(None) };
        let channel = open.qp.completion_fd();
        let duplicate = channel.try_clone_to_owned().map_err(|error| failed(&error))?;
        self.wake.remove_completions(channel)?;
        Ok(Some(duplicate))
    }

    fn join_completions(&mut self) -> Result<(), Error> {
        let Some(open) = &self.open else { return Ok(()) };
        self.wake.add_completions(open.qp.completion_fd())
    }

    fn arm_told(&mut self) -> Result<bool, Error> {
        Ok(self.arm_completions())
    }

    fn completions_readable(&mut self) {
        if let Some(open) = &mut self.open {
            open.take_event();
        }
    }

    fn others_readable(&mut self) {
        self.look_soon();
    }
}

fn failed(error: &io::Error) -> Error {
    Error::system("dup", error.raw_os_error().map_or(Errno::MFILE, Errno::from_raw_os_error))
}
