//! The subject of a test in real time, as the rig sees it.

use std::os::fd::BorrowedFd;

use smbd_core::{ConfigError, Instant, Params};

use crate::suite::rig::{Opening, Unable, UpperHand};
use crate::suite::trace::Event;

/// Whoever is at the other end of the script's connections.
pub trait Subject {
    /// Has it connect to the script. It has let go of what it had before ([`end`](Self::end)).
    ///
    /// # Errors
    /// It cannot.
    fn connect(&mut self) -> Result<(), Unable>;

    /// As [`configure`](crate::suite::rig::Rig::configure).
    ///
    /// # Errors
    /// As there.
    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        let _ = settings;
        Err(Unable::NotApplicable("the peer's settings are its own".into()))
    }

    /// The script is about to open a connection.
    ///
    /// # Errors
    /// The subject cannot have one.
    fn open(&mut self, opening: &Opening) -> Result<(), Unable> {
        let _ = opening;
        Ok(())
    }

    /// Whether it does without invalidation where an opening says so.
    fn heeds_invalidation(&self) -> bool {
        false
    }

    /// Does what can be done without waiting; when to come back at the latest, by the clock of the net. Nothing, unless the
    /// subject is part of this program.
    fn drive(&mut self) -> Option<Instant> {
        None
    }

    /// To be called before waiting for [`fds`](Self::fds): whether there is something to do at once.
    fn arm(&mut self) -> bool {
        false
    }

    /// One of them is readable when it has something to do.
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Whether it has given up the connection that it was to ask for last.
    fn gave_up(&self) -> bool {
        false
    }

    /// Whether none of its connections is up.
    fn is_over(&self) -> bool {
        true
    }

    /// As [`upper`](crate::suite::rig::Rig::upper).
    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        let _ = connection;
        None
    }

    /// Whether its upper layer may say something that no case made it say.
    fn speaks(&self) -> bool {
        false
    }

    /// Whether it connects when it likes, so that any request is one the script waits for. Others are asked for theirs, and what
    /// they ask for besides is refused.
    fn connects_unasked(&self) -> bool {
        false
    }

    /// Has it let go of its connections, for which the script's ends have to be looked after.
    fn end(&mut self) {}

    /// Whether it has.
    fn has_ended(&self) -> bool {
        true
    }

    /// What was seen of it besides messages, since the last call.
    fn seen(&mut self) -> Vec<Event> {
        Vec::new()
    }

    /// What it did that no device would take.
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }
}
