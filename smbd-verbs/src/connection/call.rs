//! Calls of a provider that may block. They run on a thread of their own, because a backend never waits.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::io::Errno;

use super::open::Open;
use crate::ffi::CmId;
use crate::{CallError, Error};

/// A call that is under way, or back and not asked for its result.
pub(super) struct Call(Arc<Shared>);

#[derive(Default)]
struct Shared {
    // Shared: a call that connects is made by a thread of its own. Locked when it is back and when it is asked for.
    result: Mutex<Option<Result<(), CallError>>>,
    /// What has to stay until the call is back; dropped with the last handle to this.
    // Shared: as the result.
    luggage: Mutex<Option<Box<Open>>>,
}

impl Call {
    /// Makes the call; `wake` becomes readable when it is back.
    pub(super) fn start(
        id: Arc<CmId>,
        wake: OwnedFd,
        call: impl FnOnce(&CmId) -> Result<(), CallError> + Send + 'static,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let run = move || {
            let result = call(&id);
            *theirs.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            // The queue pair before the id it belongs to.
            drop(theirs);
            drop(id);
            // A reader that is gone needs no waking.
            let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes());
        };
        let spawned = thread::Builder::new().name("smbd-verbs call".into()).spawn(run);
        spawned.map_err(|error| {
            let errno = error.raw_os_error().map_or(Errno::AGAIN, Errno::from_raw_os_error);
            Error::system("thread", errno)
        })?;
        Ok(Self(shared))
    }

    /// What came of it, once it is back.
    pub(super) fn result(&self) -> Option<Result<(), CallError>> {
        *self.0.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the call to itself. `open` goes when it is back.
    pub(super) fn abandon(self, open: Option<Box<Open>>) {
        *self.0.luggage.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({:?})", self.result())
    }
}
