//! Turns completions of the device into reports.

use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Head, Input, Misuse, RecvId, Token, WrId};

use super::VerbsConnection;
use super::ending::MARKER_ID;
use super::nudge::NUDGE_ID;
use super::phase::Phase;
use crate::ffi::Completion;
use crate::{CallError, quirks, status};

/// A device that completes what was not posted: the queues are right, so nothing follows.
#[inline]
fn note(noted: Result<(), Misuse>) -> Polled {
    if let Err(unknown) = noted {
        crate::trace::unknown_completion(unknown);
    }
    Polled::Noted
}

/// What a look at the completion queue gave.
#[derive(Debug)]
pub(super) enum Polled {
    /// Something to say.
    Input(Input<'static>),
    /// The queues know more than before.
    Noted,
    /// Nothing.
    Nothing,
}

impl VerbsConnection {
    /// What a connection says next that is up, and of which nothing is known but completions. `None`: look at all else, too.
    #[inline]
    pub(super) fn next_of_completions(&mut self) -> Option<Option<Input<'static>>> {
        if !matches!(self.link.phase, Phase::Up) || self.reports.is_ready() || self.link.reports.has_news() {
            return None;
        }
        loop {
            match self.queues.poll() {
                Some(input @ (Input::Sent { .. } | Input::RdmaDone { .. })) => return Some(Some(input)),
                Some(input) => return Some(Some(self.note_windows(input))),
                None => {}
            }
            let open = self.open.as_mut()?;
            if open.qp.has_given_all() {
                break;
            }
            // What failed is asked again, and noted, by who looks at everything.
            let Some(completion) = open.qp.poll().ok()? else { break };
            self.reports.polled();
            if let Polled::Input(input) = self.completed(&completion) {
                return Some(Some(input));
            }
        }
        self.stays_quiet().then_some(None)
    }

    pub(super) fn poll_device(&mut self) -> Polled {
        if !self.link.has_completions() {
            return Polled::Nothing;
        }
        let Some(open) = &mut self.open else { return Polled::Nothing };
        match open.qp.poll() {
            Ok(Some(completion)) => {
                self.reports.polled();
                self.completed(&completion)
            }
            Ok(None) => Polled::Nothing,
            Err(error) => {
                self.device_failed(error);
                Polled::Nothing
            }
        }
    }

    /// A completion queue that cannot be read, or asked to say when there is something, has nothing more to say about
    /// anything.
    pub(super) fn device_failed(&mut self, error: CallError) {
        crate::trace::provider_failed(error);
        self.link.reports.disconnected(DisconnectReason::DeviceFailed);
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) -> Polled {
        // Neither the marker nor a nudge is an id.
        let Some(id) = WrId::from_raw(completion.wr_id) else { return self.own_completed(completion) };
        if completion.status != 0 {
            return self.failed(id, completion);
        }
        let noted = match id {
            WrId::Recv(recv) => match self.queues.received(recv) {
                Ok(()) => return Polled::Input(self.received_message(recv, completion)),
                Err(unknown) => Err(unknown),
            },
            id => self.queues.complete(id, Ok(())),
        };
        note(noted)
    }

    /// Of what this backend posts for itself.
    #[cold]
    fn own_completed(&mut self, completion: &Completion) -> Polled {
        match completion.wr_id {
            MARKER_ID => self.marker_is_back(),
            NUDGE_ID => self.nudge_is_back(),
            _ => {}
        }
        Polled::Noted
    }

    #[cold]
    fn failed(&mut self, id: WrId, completion: &Completion) -> Polled {
        let error = status::work_error(completion.status).unwrap_or(WorkError::Other(completion.status));
        crate::trace::completion_failed(id, error, completion.vendor_error);
        self.look_soon();
        note(self.queues.complete(id, Err(error)))
    }

    fn received_message(&mut self, id: RecvId, completion: &Completion) -> Input<'static> {
        self.received_early();
        let Some(open) = &self.open else {
            return Input::Received { id, head: Head::of(&[]), len: 0, invalidated: None };
        };
        let head = Head::of(open.qp.received(id.slot()));
        if self.first_received.is_none() {
            self.first_received = Some(head);
        }
        let told = completion.flags & open.quirks.invalidated_flags != 0;
        // Where the flag is ambiguous, only a token of this end counts; a foreign one under the true flag is for the
        // core to judge.
        let certain = completion.flags & quirks::WITH_INV != 0;
        let key = Token(completion.invalidated_key);
        let invalidated = (told && (certain || open.registrations.has_window(key))).then_some(key);
        Input::Received { id, head, len: completion.byte_len, invalidated }
    }

    /// What the queues say, after what it means for windows.
    pub(super) fn note_windows(&mut self, input: Input<'static>) -> Input<'static> {
        if let (Input::Deregistered { id } | Input::Failed { id: WrId::Reg(id), .. }, Some(open)) =
            (&input, &mut self.open)
        {
            open.registrations.free(*id);
        }
        input
    }
}
