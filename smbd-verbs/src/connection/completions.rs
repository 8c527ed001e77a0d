//! Turns completions of the device into reports.

use smbd_core::error::DisconnectReason;
use smbd_core::{Head, Input, RecvId, Token, WrId};

use super::VerbsConnection;
use super::ending::MARKER_ID;
use super::nudge::NUDGE_ID;
use super::reports::Report;
use crate::ffi::Completion;
use crate::{CallError, quirks, status};

/// What a look at the completion queue gave.
#[derive(Debug)]
pub(super) enum Polled {
    /// Something to say.
    Report(Report),
    /// The queues know more than before.
    Noted,
    /// Nothing.
    Nothing,
}

impl VerbsConnection {
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

    fn completed(&mut self, completion: &Completion) -> Polled {
        if completion.wr_id == MARKER_ID {
            self.marker_is_back();
            return Polled::Noted;
        }
        if completion.wr_id == NUDGE_ID {
            self.nudge_is_back();
            return Polled::Noted;
        }
        let error = status::work_error(completion.status);
        let Some(id) = WrId::from_raw(completion.wr_id) else { return Polled::Noted };
        if let Some(error) = error {
            crate::trace::completion_failed(id, error, completion.vendor_error);
            self.look_soon();
        }
        let noted = match (id, error) {
            (WrId::Recv(recv), None) => match self.queues.received(recv) {
                Ok(()) => return Polled::Report(Report::Input(self.received_message(recv, completion))),
                Err(unknown) => Err(unknown),
            },
            (id, error) => self.queues.complete(id, error.map_or(Ok(()), Err)),
        };
        if let Err(unknown) = noted {
            // A device that completes what was not posted: the queues are right, so nothing follows.
            crate::trace::unknown_completion(unknown);
        }
        Polled::Noted
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
