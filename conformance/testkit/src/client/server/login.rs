//! The server negotiates, and logs a user in.

use smbd_smb2::security::{Identity, KeySchedule, Side, Step};
use smbd_smb2::wire::*;

use super::{Answer, SESSION, Server, acceptor, fresh};

impl Server {
    pub(super) fn capabilities(&self) -> Capabilities {
        let encrypts = self.setup.cipher.is_some();
        Capabilities::NONE
            .with(Capabilities::LARGE_MTU, self.setup.multi_credit)
            .with(Capabilities::MULTI_CHANNEL, self.setup.multi_channel)
            .with(Capabilities::ENCRYPTION, encrypts && self.setup.dialect < Dialect::SMB_3_1_1)
    }

    pub(super) fn mode(&self) -> SecurityMode {
        SecurityMode::SIGNING_ENABLED.with(SecurityMode::SIGNING_REQUIRED, self.setup.require_signing)
    }

    pub(super) fn negotiate(&mut self, header: Header, request: &[u8]) -> Answer {
        let ciphers = [self.setup.cipher.unwrap_or(Cipher::NONE)];
        let signings = [self.setup.signing];
        let mut contexts = vec![
            NegotiateContext::PreauthIntegrity {
                hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
                salt: &[1; 32],
            },
            NegotiateContext::Encryption(List::from(&ciphers)),
            NegotiateContext::Signing(List::from(&signings)),
        ];
        let transforms = self.setup.transforms.clone();
        contexts.extend(transforms.as_ref().map(|ids| NegotiateContext::RdmaTransform(List::from(&ids[..]))));
        let body = NegotiateResponse {
            security_mode: self.mode(),
            dialect: self.setup.dialect,
            server_guid: self.setup.server_guid,
            capabilities: self.capabilities(),
            max_transact_size: self.setup.max_size,
            max_read_size: self.setup.max_size,
            max_write_size: self.setup.max_size,
            contexts: Records::from(&contexts[..]),
            ..NegotiateResponse::default()
        };
        let answer = self.finish(header, &body, false, false);
        self.preauth.update([request]);
        self.preauth.update([&answer.bytes[..]]);
        answer
    }

    pub(super) fn session_setup(
        &mut self,
        mut header: Header,
        setup: &SessionSetupRequest<'_>,
        request: &[u8],
        is_signed: bool,
        sealed: bool,
    ) -> Answer {
        let is_again = self.keys.is_some();
        if !is_again {
            self.preauth.update([request]);
        }
        header.session_id = SESSION;
        let step = self.acceptor.step(setup.security_buffer, &fresh(3));
        let (token, is_done) = match step {
            Ok(Step::Continue(token)) => (token, false),
            Ok(Step::Done(token)) => (token.unwrap_or_default(), true),
            Err(_) => {
                header.status = NtStatus::LOGON_FAILURE;
                return self.finish(header, &ErrorResponse::default(), is_signed, sealed);
            }
        };
        let mut body = SessionSetupResponse { security_buffer: &token, ..Default::default() };
        if !is_done {
            header.status = NtStatus::MORE_PROCESSING_REQUIRED;
            let answer = self.finish(header, &body, is_signed, sealed);
            if !is_again {
                self.preauth.update([&answer.bytes[..]]);
            }
            return answer;
        }
        let established = self.acceptor.established().unwrap();
        self.acceptor = acceptor();
        assert_eq!(setup.flags, SessionSetupFlags::NONE);
        if is_again {
            return self.finish(header, &body, is_signed, sealed);
        }
        body.flags = self.setup.session_flags.with(SessionFlags::ENCRYPT_DATA, self.setup.encrypt_session);
        if established.identity == Identity::Anonymous {
            body.flags = body.flags.with(SessionFlags::IS_NULL, true);
        }
        if let Some(key) = established.session_key {
            let mut keys = self.schedule().session(Side::Server, &key).unwrap();
            keys.signer.leave(header.message_id);
            self.keys = Some(keys);
        }
        let is_guest = body.flags.contains(SessionFlags::IS_GUEST);
        self.finish(header, &body, !is_guest, false)
    }

    pub fn schedule(&self) -> KeySchedule<'_> {
        match self.setup.dialect {
            Dialect::SMB_3_1_1 => KeySchedule::Smb311 {
                signing: self.setup.signing,
                cipher: self.setup.cipher,
                preauth: &self.preauth,
            },
            _ => KeySchedule::Smb30 { can_encrypt: self.setup.cipher.is_some() },
        }
    }
}
