//! A client that binds its session to another connection.

use smbd_smb2::security::{Fresh, KeySchedule, PreauthHash, SessionKeys, Side, Signer, Step};
use smbd_smb2::server::{Params, Transport};
use smbd_smb2::wire::{
    Cipher, Dialect, Elements, Flags, Header, NtStatus, SessionId, SessionSetupFlags, SessionSetupRequest,
    SessionSetupResponse, Target, write_element,
};

use super::rig::{Rig, params};

/// A server with which sessions have up to three channels.
pub fn several() -> Params {
    Params { channels_max: 3, ..params() }
}

/// How a session is bound.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub session_id: SessionId,
    pub signs: bool,
}

impl Rig {
    /// A connection like the first, whose session is bound to it.
    pub fn bound(&mut self, transport: Transport) -> Self {
        let mut other = self.another(transport);
        other.offer.clone_from(&self.offer);
        other.signings.clone_from(&self.signings);
        other.negotiate(&[self.dialect], &self.cipher.map_or(vec![], |cipher| vec![cipher]));
        assert_eq!(other.bind(self), NtStatus::SUCCESS);
        other
    }

    /// As the same user, and as it has to be. Returns the status of the last answer.
    pub fn bind(&mut self, first: &mut Rig) -> NtStatus {
        let session_id = first.session_id;
        self.bind_with(first, Binding { user: "tester", password: "correct horse", session_id, signs: true })
    }

    /// With MessageIds that the first connection has left to this binding, as AES-GMAC needs it (SE-2).
    pub fn bind_with_nonces(&mut self, first: &mut Rig) -> NtStatus {
        let binding = first.keys.as_mut().unwrap().signer.binding(2).unwrap();
        self.give_echoes(binding.first_id() - self.next_id);
        self.skip();
        self.binding = Some(binding);
        self.bind(first)
    }

    pub fn bind_with(&mut self, first: &mut Rig, how: Binding<'_>) -> NtStatus {
        let mut initiator = Self::initiator(how.user, how.password);
        let (mut token, mut preauth, mut entropy) = (Vec::new(), self.preauth, 0x50);
        self.session_id = how.session_id;
        loop {
            let fresh = Fresh::new(self.now, [entropy; 32]);
            entropy += 1;
            let Step::Continue(own) = initiator.step(&token, &fresh).unwrap() else { panic!("too early") };
            let signer = first.keys.as_mut().filter(|_| how.signs).map(|keys| &mut keys.signer);
            let mut own_signer = self.binding.take();
            let mut request = self.binding_request(signer.filter(|_| own_signer.is_none()), &own);
            if let Some(signer) = &mut own_signer {
                signer.sign_in_place(&mut request).unwrap();
            }
            self.binding = own_signer;
            preauth.update([&request[..]]);
            let answer = self.answer_to(request);
            let header = Header::parse(&answer).unwrap();
            let response = SessionSetupResponse::parse(&answer);
            match header.status {
                NtStatus::MORE_PROCESSING_REQUIRED => {
                    verify_by(&first.keys, &answer);
                    preauth.update([&answer[..]]);
                    token = response.unwrap().security_buffer.to_vec();
                }
                NtStatus::SUCCESS => {
                    initiator.step(response.unwrap().security_buffer, &fresh).unwrap();
                    self.tree_id = first.tree_id;
                    let key = initiator.established().unwrap().session_key.unwrap();
                    self.keys = Some(self.keys_of(first, &preauth, &key));
                    assert!(header.flags.contains(Flags::SIGNED));
                    self.keys.as_ref().unwrap().verifier.verify([&answer[..]]).unwrap();
                    return header.status;
                }
                status => {
                    if header.flags.contains(Flags::SIGNED) {
                        verify_by(&first.keys, &answer);
                    }
                    return status;
                }
            }
        }
    }

    /// A request with SMB2_SESSION_FLAG_BINDING, signed by whoever is given.
    pub fn binding_request(&mut self, signer: Option<&mut Signer>, token: &[u8]) -> Vec<u8> {
        let request = SessionSetupRequest {
            flags: SessionSetupFlags::BINDING,
            security_buffer: token,
            ..SessionSetupRequest::default()
        };
        let header = Header { target: Target::default(), ..self.header::<SessionSetupRequest<'_>>(0) };
        let mut message = Vec::new();
        write_element(&mut message, &header, &request).unwrap();
        if let Some(signer) = signer {
            signer.sign_in_place(&mut message).unwrap();
        }
        message
    }

    /// Gives the server a message, and takes the answer as it came.
    pub fn answer_to(&mut self, message: Vec<u8>) -> Vec<u8> {
        let before = self.sent.len();
        self.give(&mut message.clone());
        assert_eq!(self.sent.len(), before + 1, "{:?}", self.closed);
        let keys = self.keys.take();
        // Its signature is looked at by whoever asked.
        self.skip();
        self.keys = keys;
        let answer = self.sent.last().unwrap().0.clone();
        assert_eq!(Elements::new(&answer).count(), 1);
        answer
    }

    /// The keys of the new channel: what encrypts is the session's.
    fn keys_of(
        &self,
        first: &mut Rig,
        preauth: &PreauthHash,
        key: &smbd_smb2::security::Secret,
    ) -> SessionKeys {
        let schedule = if self.dialect == Dialect::SMB_3_1_1 {
            KeySchedule::Smb311 { signing: self.signing, cipher: self.cipher, preauth }
        } else {
            KeySchedule::Smb30 { can_encrypt: self.cipher.is_some() }
        };
        let (signer, verifier) = schedule.channel(Side::Client, key).unwrap();
        let keys = first.keys.as_mut().unwrap();
        let encryption = keys.encryption.as_mut();
        let encryption = encryption.map(|(sealer, opener)| (sealer.channel().unwrap(), opener.clone()));
        SessionKeys { signer, verifier, encryption, application_key: keys.application_key.clone() }
    }
}

fn verify_by(keys: &Option<SessionKeys>, answer: &[u8]) {
    assert!(Header::parse(answer).unwrap().flags.contains(Flags::SIGNED), "it is signed");
    keys.as_ref().unwrap().verifier.verify([answer]).unwrap();
}

/// What both connections negotiate, if nothing else is said.
pub const USUAL: (Dialect, Cipher) = (Dialect::SMB_3_1_1, Cipher::AES_128_GCM);

/// A binding whose first answer is there.
pub struct Begun {
    initiator: smbd_smb2::security::Initiator,
    preauth: PreauthHash,
    token: Vec<u8>,
}

impl Rig {
    /// The first message of a login, and nothing behind it. Returns the session.
    pub fn begin_login(&mut self) -> SessionId {
        let token = self.first_token();
        let request = SessionSetupRequest { security_buffer: &token, ..SessionSetupRequest::default() };
        let answer = self.request(&request);
        assert_eq!(answer.status(), NtStatus::MORE_PROCESSING_REQUIRED);
        answer.header.session_id
    }

    /// The first token of the user.
    pub fn first_token(&self) -> Vec<u8> {
        let fresh = Fresh::new(self.now, [0x44; 32]);
        match Self::initiator("tester", "correct horse").step(&[], &fresh).unwrap() {
            Step::Continue(token) => token,
            Step::Done(_) => panic!("done too early"),
        }
    }

    /// The first message of a binding.
    pub fn begin_binding(&mut self, first: &mut Rig) -> Begun {
        let mut initiator = Self::initiator("tester", "correct horse");
        let fresh = Fresh::new(self.now, [0x45; 32]);
        let Step::Continue(own) = initiator.step(&[], &fresh).unwrap() else { panic!("done too early") };
        self.session_id = first.session_id;
        let message = self.binding_request(first.keys.as_mut().map(|keys| &mut keys.signer), &own);
        let mut preauth = self.preauth;
        preauth.update([&message[..]]);
        let answer = self.answer_to(message);
        preauth.update([&answer[..]]);
        let token = SessionSetupResponse::parse(&answer).unwrap().security_buffer.to_vec();
        Begun { initiator, preauth, token }
    }

    /// The last message of a binding. Returns the status.
    pub fn end_binding(&mut self, first: &mut Rig, begun: &mut Begun) -> NtStatus {
        let fresh = Fresh::new(self.now, [0x46; 32]);
        let Step::Continue(own) = begun.initiator.step(&begun.token, &fresh).unwrap() else {
            panic!("done too early")
        };
        let message = self.binding_request(first.keys.as_mut().map(|keys| &mut keys.signer), &own);
        begun.preauth.update([&message[..]]);
        Header::parse(&self.answer_to(message)).unwrap().status
    }

    /// ECHOs that nobody signs, so that a login has later MessageIds.
    pub fn give_echoes(&mut self, count: u64) {
        for _ in 0..count {
            let header = self.header::<smbd_smb2::wire::EchoRequest>(0);
            assert_eq!(
                self.ask(&header, &smbd_smb2::wire::EchoRequest::default()).status(),
                NtStatus::SUCCESS
            );
        }
    }
}
