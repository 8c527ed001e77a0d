//! What a client's message says about where its connection belongs.

use smbd_smb2::wire::{
    Command, Guid, Header, Message, NegotiateRequest, SessionSetupFlags, SessionSetupRequest,
};

/// What a message is to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// NEGOTIATE, of this client.
    Negotiate(Guid),
    /// SESSION_SETUP that binds this session to the connection (MS-SMB2 3.3.5.5.2).
    Bind(u64),
    /// Another SESSION_SETUP.
    Setup,
    /// Anything else, among it what is no message of SMB2. Whoever gets it says what is wrong.
    Other,
}

impl Offer {
    pub(super) fn of(message: &[u8]) -> Self {
        Self::read(message).unwrap_or(Self::Other)
    }

    fn read(message: &[u8]) -> Option<Self> {
        let Ok(Message::Smb2(_)) = Message::parse(message) else { return None };
        let header = Header::parse(message).ok().filter(|header| !header.is_response())?;
        match header.command {
            Command::NEGOTIATE => {
                let request = NegotiateRequest::parse(message).ok()?;
                Some(Self::Negotiate(request.client_guid))
            }
            Command::SESSION_SETUP => {
                let request = SessionSetupRequest::parse(message).ok();
                let binds = request.is_some_and(|request| request.flags.contains(SessionSetupFlags::BINDING));
                Some(if binds { Self::Bind(header.session_id.0) } else { Self::Setup })
            }
            _ => None,
        }
    }
}
