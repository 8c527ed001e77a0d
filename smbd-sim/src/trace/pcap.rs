use std::io;

use smbd_core::error::WorkError;

use crate::Side;
use crate::capture::{Fault, Remote, SendOptions, Transport, Writer};
use crate::probe::{At, Frame, Probe};

/// Writes the frames of a run to a capture file, one connection after the other. Needs a world that keeps content.
#[derive(Debug)]
pub struct Pcap<W, T> {
    writer: Writer<W, T>,
    message: Vec<u8>,
    /// A connection has been shown.
    begun: bool,
    /// The last one has not ended.
    open: bool,
    error: Option<io::Error>,
}

impl<W: io::Write, T: Transport> Pcap<W, T> {
    /// Writes with `writer`.
    #[must_use]
    pub const fn new(writer: Writer<W, T>) -> Self {
        Self { writer, message: Vec::new(), begun: false, open: false, error: None }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error of the run, or of ending the file.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    fn write(&mut self, at: At, frame: &Frame<'_>) -> io::Result<()> {
        let now = at.now.as_nanos();
        let from = at.side;
        let place = |d: &smbd_core::BufferDescriptorV1| Remote { token: d.token, address: d.offset };
        match frame {
            Frame::Connect { .. } => {
                if std::mem::replace(&mut self.begun, true) {
                    self.writer.renew();
                }
                self.open = true;
                self.writer.connect(now, &[])
            }
            Frame::Accept { .. } => self.writer.accept(now, &[]),
            // Both sides say so, even of what never began; the capture shows the first with its answer.
            Frame::Reject | Frame::Disconnect if !std::mem::replace(&mut self.open, false) => Ok(()),
            Frame::Reject if from == Side::Acceptor => self.writer.reject(now, &[]),
            Frame::Reject | Frame::Disconnect => self.writer.disconnect(now, from),
            Frame::Send { head, body, invalidate, solicit, .. } => {
                self.message.clear();
                self.message.extend_from_slice(head.as_bytes());
                self.message.extend_from_slice(body);
                let options = SendOptions { invalidate: *invalidate, solicited: *solicit };
                self.writer.send(now, from, &self.message, options)
            }
            Frame::Write { remote, payload, .. } => self.writer.write(now, from, place(remote), payload),
            Frame::Read { remote, .. } => self.writer.read_request(now, from, place(remote), remote.length),
            Frame::ReadData { payload, .. } => self.writer.read_response(now, from, payload),
            Frame::Ack { .. } => self.writer.acknowledge(now, from),
            Frame::Nak { error, .. } | Frame::Terminate { error } => {
                self.writer.fault(now, from, fault(*error))
            }
        }
    }
}

fn fault(error: WorkError) -> Fault {
    if error == WorkError::ReceiverNotReady {
        Fault::NoReceive
    } else if error == WorkError::RemoteOperation {
        Fault::TooLong
    } else {
        Fault::Access
    }
}

impl<W: io::Write, T: Transport> Probe for Pcap<W, T> {
    fn wants_frames(&self) -> bool {
        self.error.is_none()
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        if self.error.is_none()
            && let Err(error) = self.write(at, frame)
        {
            self.error = Some(error);
        }
    }
}
