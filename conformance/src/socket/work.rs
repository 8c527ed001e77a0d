//! Carries out what is posted.

use smbd_core::error::{DisconnectReason, WorkError};

use super::end::{SocketEnd, Stage};
use super::frame::{Frame, Reason};
use super::sending::{AHEAD, Held};
use super::wire::Brought;

impl SocketEnd {
    /// Queues data for Reads of the peer.
    fn serve(&mut self) {
        while self.stage == Stage::Up && self.wire.waiting() < AHEAD {
            let Some(piece) = self.sending.next_served(AHEAD) else { return };
            match self.bytes_for_read(piece) {
                Ok(data) => {
                    self.wire.queue(&Frame::ReadData(&data));
                }
                Err(violation) => self.fail(&violation),
            }
        }
    }

    /// Begins what can be begun, and completes what is done.
    pub(super) fn advance(&mut self) {
        let mut before = None;
        // What the socket has taken makes room for more.
        while before != Some(self.wire.handed()) {
            before = Some(self.wire.handed());
            self.serve();
            self.begin_work();
            self.wire.write();
        }
        while let Some((id, signal)) = self.sending.next_done(self.wire.handed()) {
            if signal {
                // The queues know every request that was posted.
                let _ = self.queues.complete(id, Ok(()));
            }
        }
    }

    fn begin_work(&mut self) {
        let mut looked = false;
        while self.stage == Stage::Up && self.wire.waiting() < AHEAD {
            match self.sending.begin(&mut self.wire) {
                Ok(()) => {}
                Err(Held::Yet) => break,
                // The receive that it needs may have been told of.
                Err(Held::Never(WorkError::ReceiverNotReady, ..)) if !looked => {
                    looked = true;
                    if self.wire.read() == Brought::Bytes {
                        self.take_frames();
                    }
                }
                Err(Held::Never(error, reason, text)) => self.give_up(error, reason, &text),
            }
        }
    }

    /// The work to be begun next failed, and with it the connection.
    fn give_up(&mut self, error: WorkError, reason: Reason, text: &str) {
        if let Some(id) = self.sending.next_id() {
            // The queues know every request that was posted.
            let _ = self.queues.complete(id, Err(error));
            self.sending.forget_until(id);
        }
        self.trouble.get_or_insert_with(|| format!("this end broke the connection: {reason}: {text}"));
        self.end_with(reason, text);
        self.over(DisconnectReason::DeviceFailed);
    }
}
