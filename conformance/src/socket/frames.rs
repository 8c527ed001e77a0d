//! What becomes of the frames of the peer.

use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{BufferDescriptorV1, Head, Input, RdmaVerb, Token};

use super::end::{Report, SocketEnd, Stage};
use super::frame::{Frame, Hello, Reason, Violation, broken};

impl SocketEnd {
    /// Carries out the frames that have come.
    pub(super) fn take_frames(&mut self) {
        let bytes = self.wire.take_arrived();
        let mut used = 0;
        while self.stage != Stage::Over {
            let taken = match Frame::parse(&bytes[used..]) {
                Ok(None) => break,
                Ok(Some((frame, len))) => {
                    used += len;
                    self.take(frame)
                }
                Err(violation) if self.peer.is_none() => Err(not_a_frame(violation, &bytes)),
                Err(violation) => Err(violation),
            };
            if let Err(violation) = taken {
                self.fail(&violation);
            }
        }
        self.wire.put_back(bytes, used);
        if self.stage == Stage::Over {
            self.wire.discard();
        }
    }

    /// The peer did what ends the connection.
    pub(super) fn fail(&mut self, violation: &Violation) {
        self.trouble.get_or_insert_with(|| format!("the peer broke the connection: {violation}"));
        self.end_with(violation.reason, &violation.text);
        self.over(DisconnectReason::DeviceFailed);
    }

    fn take(&mut self, frame: Frame<'_>) -> Result<(), Violation> {
        match (frame, &mut self.peer) {
            (Frame::End(reason, text), _) => self.take_end(reason, text),
            (Frame::Hello(hello), None) => return self.take_hello(hello),
            (_, None) => return Err(broken("the first frame is no HELLO")),
            (Frame::Hello(_), Some(_)) => return Err(broken("a second HELLO")),
            (Frame::Receives { count, length }, Some(_)) => self.sending.receives(count, length)?,
            (Frame::Ready, Some((_, ready))) => {
                if std::mem::replace(ready, true) {
                    return Err(broken("a second READY"));
                }
                self.settle();
            }
            _ if self.stage != Stage::Up => {
                return Err(broken("a frame that has to wait until both sides are READY"));
            }
            (Frame::Send { invalidate, message }, _) => return self.take_message(message, invalidate),
            (Frame::Write(remote, data), _) => return self.take_write(remote, data),
            (Frame::Read(remote), _) => return self.take_read(remote),
            (Frame::ReadData(data), _) => return self.sending.take_data(data),
        }
        Ok(())
    }

    fn take_hello(&mut self, hello: Hello) -> Result<(), Violation> {
        if hello.role == self.role {
            return Err(broken(format!("both sides say that they are the {:?}", hello.role)));
        }
        self.peer = Some((hello, false));
        Ok(())
    }

    fn take_message(&mut self, message: &[u8], invalidate: Option<Token>) -> Result<(), Violation> {
        let Some((id, room)) = self.receiving.take() else {
            let text = format!("a message of {} bytes came, and no receive is posted", message.len());
            return Err(Violation::new(Reason::NoReceive, text));
        };
        let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
        if len > room {
            // The queues know every receive that was posted.
            let _ = self.queues.complete(id.into(), Err(WorkError::LocalLength));
            return Err(Violation::new(Reason::TooLong, format!("{len} bytes, the receive has {room}")));
        }
        if let Some(token) = invalidate
            && !(self.own.remote_invalidation && self.regions.invalidate(token))
        {
            let _ = self.queues.complete(id.into(), Err(WorkError::RemoteInvalidRequest));
            let text = format!("token 0x{:x} cannot be invalidated", token.0);
            return Err(Violation::new(Reason::Token, text));
        }
        self.receiving.keep(id, message);
        let _ = self.queues.received(id);
        let received = Input::Received { id, head: Head::of(message), len, invalidated: invalidate };
        self.reports.push_back(Report::Input(received));
        Ok(())
    }

    fn take_write(&mut self, remote: BufferDescriptorV1, data: &[u8]) -> Result<(), Violation> {
        let (buffer, at) = self.regions.reach(RdmaVerb::Write, remote).map_err(no_access)?;
        buffer.fill(at, data).map_err(|error| no_access(error.to_string()))
    }

    fn take_read(&mut self, remote: BufferDescriptorV1) -> Result<(), Violation> {
        let served = self.sending.served();
        if served >= usize::from(self.own.inbound_reads) {
            return Err(broken(format!("a READ besides {served}, as many as HELLO allows")));
        }
        self.regions.reach(RdmaVerb::Read, remote).map_err(no_access)?;
        self.sending.serve(remote);
        Ok(())
    }

    /// Bytes for a Read of the peer, if they are still open to it.
    pub(super) fn bytes_for_read(&self, remote: BufferDescriptorV1) -> Result<Vec<u8>, Violation> {
        let (buffer, at) = self.regions.reach(RdmaVerb::Read, remote).map_err(no_access)?;
        buffer.copy(at, remote.length).map_err(|error| no_access(error.to_string()))
    }

    fn take_end(&mut self, reason: Reason, text: &str) {
        if reason == Reason::Access
            && let Some(read) = self.sending.oldest_read()
        {
            // The queues know every request that was posted.
            let _ = self.queues.complete(read, Err(WorkError::RemoteAccess));
            self.sending.forget_until(read);
        }
        if reason != Reason::Disconnect {
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            self.trouble.get_or_insert_with(|| format!("the peer ended the connection: {reason}{text}"));
        }
        let in_order = matches!(reason, Reason::Disconnect | Reason::Refused);
        self.wire.close();
        self.over(if in_order { DisconnectReason::PeerClosed } else { DisconnectReason::PeerAborted });
    }
}

fn no_access(text: String) -> Violation {
    Violation::new(Reason::Access, text)
}

/// What is wrong with first bytes that are no frame.
fn not_a_frame(violation: Violation, bytes: &[u8]) -> Violation {
    let first = bytes.get(..bytes.len().min(16)).unwrap_or_default().escape_ascii();
    let text = format!("{}; the first bytes are \"{first}\"", violation.text);
    Violation { text, ..violation }
}
