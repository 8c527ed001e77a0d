use std::os::fd::{AsFd, OwnedFd};

use smbd_link::Waitable;

use crate::{Error, VerbsConnection};

/// A backend with a file descriptor, for a waiter that says what was readable. A backend that can use that has a descriptor for its
/// completions alone: then a completion costs its waiter no look at anything else.
///
/// All methods return at once. By default a backend has one descriptor for everything.
pub trait Told: Waitable<Error = Error> + AsFd {
    /// Splits the descriptor of completions from [`AsFd::as_fd`], and returns a duplicate of it; `None` as long as there is none.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated or split.
    fn split_completions(&mut self) -> Result<Option<OwnedFd>, Error> {
        Ok(None)
    }

    /// Undoes that.
    ///
    /// # Errors
    /// The descriptors cannot be joined.
    fn join_completions(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// As [`Waitable::arm`], for a waiter that calls the two below.
    ///
    /// # Errors
    /// The device does not answer.
    fn arm_told(&mut self) -> Result<bool, Error> {
        self.arm()
    }

    /// The descriptor of completions was readable. The backend has to be armed again.
    fn completions_readable(&mut self) {}

    /// [`AsFd::as_fd`] was readable.
    fn others_readable(&mut self) {}
}

impl Told for VerbsConnection {
    fn split_completions(&mut self) -> Result<Option<OwnedFd>, Error> {
        Self::split_completions(self)
    }

    fn join_completions(&mut self) -> Result<(), Error> {
        Self::join_completions(self)
    }

    fn arm_told(&mut self) -> Result<bool, Error> {
        Ok(self.arm_completions())
    }

    fn completions_readable(&mut self) {
        self.take_completion_event();
    }

    fn others_readable(&mut self) {
        self.look_soon();
    }
}
