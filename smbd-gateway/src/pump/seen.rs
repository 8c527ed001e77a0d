//! What is read of the messages that pass.

use smbd_smb2::wire::{Command, Dialect, Message, NtStatus, Response};

/// What the server's answers said before the first session was established. Later messages are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The dialect of the answer to NEGOTIATE (2.2.4).
    pub(super) dialect: Option<Dialect>,
    /// A SESSION_SETUP was successful (3.3.5.5.3). Its last answer is never encrypted.
    pub(super) has_session: bool,
}

impl Seen {
    /// A message to the client.
    pub(super) fn look(&mut self, message: &[u8]) {
        if self.has_session {
            return;
        }
        let Ok(Message::Smb2(elements)) = Message::parse(message) else { return };
        for element in elements.map_while(Result::ok) {
            let header = element.header;
            if !header.is_response() || header.status != NtStatus::SUCCESS {
                continue;
            }
            if header.command == Command::SESSION_SETUP {
                self.has_session = true;
            } else if let Ok(Response::Negotiate(answer)) = Response::parse(element.bytes) {
                self.dialect = Some(answer.dialect);
            }
        }
    }
}
