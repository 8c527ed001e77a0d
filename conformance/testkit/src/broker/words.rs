//! What clients and servers say.

use smbd_smb2::wire::{
    Body, Dialect, Guid, Header, List, MessageId, NegotiateRequest, SessionId, SessionSetupFlags,
    SessionSetupRequest, write_element,
};

/// What a message of a client is to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Negotiate(u8),
    Bind(u64),
    Setup,
    Other,
}

/// A message that is like no other, whose number says which it is.
pub fn message(word: Word, number: u64, extra: usize) -> Vec<u8> {
    let id = MessageId(number);
    match word {
        Word::Negotiate(guid) => {
            let dialects = List::from(&[Dialect::SMB_3_0]);
            let request =
                NegotiateRequest { client_guid: Guid([guid; 16]), dialects, ..NegotiateRequest::default() };
            element(Header { message_id: id, ..Header::request::<NegotiateRequest<'_>>(0) }, &request)
        }
        Word::Bind(_) | Word::Setup => {
            let (flags, session) = match word {
                Word::Bind(session) => (SessionSetupFlags::BINDING, session),
                _ => (SessionSetupFlags::NONE, 1),
            };
            let header = Header {
                message_id: id,
                session_id: SessionId(session),
                ..Header::request::<SessionSetupRequest<'_>>(0)
            };
            let request =
                SessionSetupRequest { flags, security_buffer: b"t", ..SessionSetupRequest::default() };
            element(header, &request)
        }
        Word::Other => {
            let mut bytes = vec![0x55; extra];
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes
        }
    }
}

fn element(header: Header, body: &impl Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_element(&mut bytes, &header, body).expect("there is room");
    bytes
}
