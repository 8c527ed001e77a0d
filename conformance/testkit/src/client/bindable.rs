//! A session of the small server on another connection of it.

use smbd_smb2::security::{BindingSigner, Opener, Sealer, Secret, SessionKeys, Side, Step, Verifier};
use smbd_smb2::wire::*;

use super::server::{Answer, OnBinding, SESSION, Server, fresh};

/// A session that may be bound: what a server keeps of it for all of its connections.
pub struct Bindable {
    pub signer: BindingSigner,
    pub verifier: Verifier,
    pub encryption: Option<(Sealer, Opener)>,
    pub says: Says,
}

/// How a binding is answered.
#[derive(Clone, Copy, Debug)]
pub struct Says {
    pub flags: SessionFlags,
    /// Whether the answer in the middle is signed, and the last one; whether that has the flag that says so.
    pub signs_first: bool,
    pub signs_last: bool,
    pub shows_flag: bool,
}

impl Default for Says {
    fn default() -> Self {
        Self { flags: SessionFlags::ENCRYPT_DATA, signs_first: true, signs_last: true, shows_flag: true }
    }
}

fn unflagged(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let flags = header::field::FLAGS.get(&message).unwrap().with(Flags::SIGNED, false);
    header::field::FLAGS.set(&mut message, flags).unwrap();
    message
}

impl Server {
    /// What another connection needs to bind this one's session.
    pub fn bindable(&mut self, says: Says) -> Bindable {
        let keys = self.keys.as_mut().expect("a session");
        let encryption =
            keys.encryption.as_mut().map(|(sealer, opener)| (sealer.channel().unwrap(), opener.clone()));
        let signer = keys.signer.binding(2).expect("MessageIds");
        Bindable { signer, verifier: keys.verifier.clone(), encryption, says }
    }
}

impl Bindable {
    /// What answers to bindings.
    pub fn on_binding(mut self) -> OnBinding {
        Box::new(move |server, header, setup, request| self.bind(server, header, setup, request))
    }

    /// 3.3.5.5
    fn bind(
        &mut self,
        server: &mut Server,
        mut header: Header,
        setup: &SessionSetupRequest<'_>,
        request: &[u8],
    ) -> Answer {
        assert_eq!((setup.flags, header.session_id), (SessionSetupFlags::BINDING, SESSION));
        assert_eq!(setup.previous_session_id, SessionId::NONE);
        let flags = header::field::FLAGS.get(request).unwrap();
        assert!(flags.contains(Flags::SIGNED), "a binding is signed");
        if let Err(error) = self.verifier.verify([request]) {
            assert!(server.is_lenient, "not what the session's key has signed: {error}");
            header.status = NtStatus::ACCESS_DENIED;
            return server.finish(header, &ErrorResponse::default(), false, false);
        }
        server.preauth.update([request]);
        let says = self.says;
        let Ok(step) = server.acceptor.step(setup.security_buffer, &fresh(4)) else {
            header.status = NtStatus::LOGON_FAILURE;
            return server.finish(header, &ErrorResponse::default(), false, false);
        };
        let token = match step {
            Step::Continue(token) => {
                header.status = NtStatus::MORE_PROCESSING_REQUIRED;
                let body = SessionSetupResponse { security_buffer: &token, ..Default::default() };
                let mut answer = server.finish(header, &body, false, false);
                if says.signs_first {
                    let signed = self.signer.sign_in_place(&mut answer.bytes);
                    assert!(signed.is_ok() || server.is_lenient, "{signed:?}");
                }
                server.preauth.update([&answer.bytes[..]]);
                return answer;
            }
            Step::Done(token) => token.unwrap_or_default(),
        };
        let key = server.acceptor.established().unwrap().session_key.unwrap();
        let (signer, verifier) = server.schedule().channel(Side::Server, &key).unwrap();
        let (application_key, encryption) = (Secret::new(&[1; 16]).unwrap(), self.encryption.take());
        server.keys = Some(SessionKeys { signer, verifier, encryption, application_key });
        let body = SessionSetupResponse { flags: says.flags, security_buffer: &token };
        let mut answer = server.finish(header, &body, says.signs_last, false);
        if !says.shows_flag && answer.bytes.len() >= header::LEN {
            // The signature is that of a message without the flag.
            let mut bytes = unflagged(&answer.bytes);
            let signature = server.keys.as_ref().unwrap().signer.sign([&bytes[..]]).unwrap();
            header::field::SIGNATURE.set(&mut bytes, signature).unwrap();
            answer.bytes = bytes;
        }
        answer
    }
}
