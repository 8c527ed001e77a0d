//! The keys of a user's session, of both sides: the script's entropy is known. So messages can be changed that are signed or encrypted.

use smbd_conformance::smb2::client::ENTROPY;
use smbd_smb2::security::{Fresh, KeySchedule, PreauthHash, Secret, SessionKeys, Side};
use smbd_smb2::wire::{
    Cipher, Command, Dialect, Flags, Header, Message, NegotiateContext, NegotiateResponse, NtStatus,
    SessionFlags, SessionId, SessionSetupResponse, SigningAlgorithm, transform,
};

/// What is known of one connection.
#[derive(Default)]
pub struct Keys {
    preauth: PreauthHash,
    dialect: Dialect,
    chosen: (Option<Cipher>, Option<SigningAlgorithm>),
    /// Of the client, of the server.
    keys: Option<(SessionKeys, SessionKeys)>,
}

/// The key that the client's AUTHENTICATE_MESSAGE brings the server (MS-NLMP 3.1.5.1.2).
fn exported() -> Secret {
    let fresh = Fresh::new(0, ENTROPY).step(1);
    Secret::new(&fresh.entropy()[8..24]).unwrap()
}

fn is_sealed(message: &[u8]) -> bool {
    matches!(Message::parse(message), Ok(Message::Transform(_)))
}

impl Keys {
    /// A request, changed on its way.
    pub fn request(&mut self, message: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let changed = self.through(message, Side::Client, |plain| change(plain));
        let command = Header::parse(&changed).map(|header| header.command);
        if self.keys.is_none() && matches!(command, Ok(Command::NEGOTIATE | Command::SESSION_SETUP)) {
            self.preauth.update([&changed[..]]);
        }
        changed
    }

    /// A response, changed on its way.
    pub fn response(&mut self, message: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        if self.keys.is_none() {
            self.learn(message);
        }
        self.through(message, Side::Server, change)
    }

    fn learn(&mut self, message: &[u8]) {
        let Ok(header) = Header::parse(message) else { return };
        match (header.command, header.status) {
            (Command::NEGOTIATE, NtStatus::SUCCESS) => {
                // Of a client it is the request that comes this way.
                let Ok(response) = NegotiateResponse::parse(message) else { return };
                self.dialect = response.dialect;
                for context in response.contexts.iter().flatten() {
                    match context {
                        NegotiateContext::Encryption(ids) => self.chosen.0 = ids.get(0),
                        NegotiateContext::Signing(ids) => self.chosen.1 = ids.get(0),
                        _ => {}
                    }
                }
                self.preauth.update([message]);
            }
            (Command::SESSION_SETUP, NtStatus::MORE_PROCESSING_REQUIRED) => self.preauth.update([message]),
            (Command::SESSION_SETUP, NtStatus::SUCCESS) => {
                let Ok(response) = SessionSetupResponse::parse(message) else { return };
                if response.flags.contains(SessionFlags::IS_GUEST) {
                    return;
                }
                let preauth = &self.preauth;
                let schedule = match (self.dialect, self.chosen) {
                    (Dialect::SMB_3_1_1, (Some(cipher), Some(signing))) => {
                        KeySchedule::Smb311 { signing, cipher: Some(cipher), preauth }
                    }
                    (Dialect::SMB_3_1_1, _) => return,
                    _ => KeySchedule::Smb30 { can_encrypt: false },
                };
                let of = |side| schedule.session(side, &exported()).unwrap();
                self.keys = Some((of(Side::Client), of(Side::Server)));
            }
            _ => {}
        }
    }

    fn through(&mut self, message: &[u8], from: Side, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let Some((client, server)) = &mut self.keys else {
            let mut plain = message.to_vec();
            change(&mut plain);
            return plain;
        };
        let (sender, receiver) = match from {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let mut plain = message.to_vec();
        let is_sealed = is_sealed(message);
        if is_sealed {
            let front: Vec<u8> = plain.drain(..transform::LEN).collect();
            let (_, opener) = receiver.encryption.as_ref().unwrap();
            if opener.open_message(&front, &mut [&mut plain]).is_err() {
                // Only the first fragment of it.
                return message.to_vec();
            }
        }
        let was = plain.clone();
        change(&mut plain);
        if plain == was {
            return message.to_vec();
        }
        if is_sealed {
            let session = SessionId(u64::from_le_bytes(message[44..52].try_into().unwrap()));
            let (sealer, _) = sender.encryption.as_mut().unwrap();
            let mut sealed = sealer.seal_message(session, &mut [&mut plain]).unwrap().to_vec();
            sealed.append(&mut plain);
            return sealed;
        }
        if Header::parse(&plain).is_ok_and(|header| header.flags.contains(Flags::SIGNED)) {
            sender.signer.sign_in_place(&mut plain).unwrap();
        }
        plain
    }
}
