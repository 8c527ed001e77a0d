//! Why an operation of a client with two connections may fail, and what is known then.

use smbd_client::Error;
use smbd_smb2::client::Failure;
use smbd_smb2::wire::NtStatus;

use super::crew::Crew;
use crate::plan::Carrier;
use smbd_testkit::{Breach, law};

/// How a session stood when an operation began.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    is_bound: bool,
    lost: usize,
}

/// What is known of an operation that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It may have been carried out.
    Unknown,
    /// It may still be.
    Later,
    /// The session is over, or a law broken.
    Over,
}

impl Standing {
    pub fn of(crew: &Crew) -> Self {
        Self { is_bound: crew.is_bound.get(), lost: crew.connections().1 }
    }

    /// A connection was lost since then.
    pub fn has_lost(self, crew: &Crew) -> bool {
        crew.connections().1 > self.lost
    }

    /// What is known of a failure; it is judged. `can_repeat`: twice is the same as once.
    pub fn outcome(self, crew: &Crew, what: &str, error: &Error, can_repeat: bool) -> Fate {
        crew.notes().step(|| format!("client: {what} fails: {error}"));
        crew.notes().count("operations that failed");
        let judged = self.judged(crew, what, error, can_repeat);
        let fate = judged.as_ref().copied().unwrap_or(Fate::Over);
        crew.judge(judged.map(|_| ()));
        if fate == Fate::Over {
            crew.has_failed.set(true);
        }
        fate
    }

    fn judged(self, crew: &Crew, what: &str, error: &Error, can_repeat: bool) -> Result<Fate, Breach> {
        let plan = crew.plan();
        let (live, lost) = crew.connections();
        if plan.mischief.is_some() {
            // Whatever is changed may fail. Some failures are for ever. A device that registers nothing changes no message.
            let is_of_device = matches!(error, Error::Failure(Failure::Registration));
            let is_over =
                live == 0 || matches!(error, Error::Ended(_)) || (!is_of_device && crew.fails_too_often());
            return Ok(if is_over { Fate::Over } else { Fate::Unknown });
        }
        let bad = [NtStatus::INVALID_SIGNATURE, NtStatus::AUTH_TAG_MISMATCH];
        match error {
            Error::Ended(_) => {
                // One that was bound later was not there to go on at.
                let is_left = live > 0 && self.is_bound;
                law!("moved", !is_left, "{what}: {error}; {live} connections are left");
                Ok(if live > 0 { Fate::Unknown } else { Fate::Over })
            }
            Error::Unknown { .. } => {
                law!("moved", !can_repeat && lost > 0, "{what}: {error}; it could be done again");
                Ok(Fate::Unknown)
            }
            Error::Failure(Failure::Registration) => {
                let has_device = [0, 1].map(|number| plan.carrier_of(number)).contains(&Carrier::Rdma);
                law!("results", has_device, "{what}: {error}");
                Ok(Fate::Unknown)
            }
            Error::Failure(Failure::Transform(_)) => {
                law!("results", plan.tampers.is_some(), "{what}: {error}");
                Ok(Fate::Unknown)
            }
            Error::Status(status) if bad.contains(status) => {
                law!("results", plan.tampers.is_some(), "{what}: {error}");
                Ok(Fate::Unknown)
            }
            // The server may not hear for long that a connection is lost whose device says nothing.
            Error::Status(NtStatus::FILE_NOT_AVAILABLE) => {
                law!("moved", lost > 0 && !plan.is_gentle, "{what}: {error}");
                Ok(Fate::Later)
            }
            other => Err(format!("results: {what}: {other}")),
        }
    }
}
