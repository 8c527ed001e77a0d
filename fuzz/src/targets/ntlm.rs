//! Messages of NTLM.

use smbd_smb2::security::{
    AcceptorConfig, AuthError, AuthenticateMessage, AvPairs, ChallengeMessage, Mechanism, NegotiateMessage,
    NtlmAcceptor, NtlmClient, NtlmResponse, Step,
};

use super::security::{accounts, fresh, tester};

/// What can be read of a message is read again as the same from what is written of it; both sides answer it or fail; nobody logs in
/// without a password.
pub fn ntlm(data: &[u8]) {
    if let Err(error) = read(data) {
        assert!(error.to_string().len() < 300);
    }
    let mut client = NtlmClient::new(tester(), "CLIENT".into(), "cifs/server".into());
    let Ok(Step::Continue(negotiate)) = client.step(&[], &fresh(1)) else { panic!("the client begins") };
    answered(&mut client, data);

    let config = AcceptorConfig { guests: true, anonymous: true, ..AcceptorConfig::new("SERVER") };
    let mut acceptor = NtlmAcceptor::new(config.clone(), accounts);
    answered(&mut acceptor, data);
    let mut acceptor = NtlmAcceptor::new(config, accounts);
    assert!(acceptor.step(&negotiate, &fresh(2)).is_ok());
    answered(&mut acceptor, data);
    assert!(acceptor.established().is_none_or(|established| established.session_key.is_none()));
}

/// A step with this token. What comes of it is bounded by the token's length.
fn answered(mechanism: &mut impl Mechanism, token: &[u8]) {
    match mechanism.step(token, &fresh(3)) {
        Ok(Step::Continue(answer) | Step::Done(Some(answer))) => {
            assert!(answer.len() < 600 + 2 * token.len())
        }
        Ok(Step::Done(None)) => {}
        Err(error) => {
            assert!(error.to_string().len() < 300);
            assert!(mechanism.established().is_none());
            assert_eq!(mechanism.step(token, &fresh(4)), Err(AuthError::OutOfOrder));
        }
    }
}

fn read(data: &[u8]) -> Result<(), AuthError> {
    if let Ok(message) = NegotiateMessage::parse(data) {
        assert_eq!(NegotiateMessage::parse(&message.write()?), Ok(message));
    }
    if let Ok(message) = ChallengeMessage::parse(data) {
        pairs(message.target_info);
        // An odd byte of a name is not written; overlapping parts may be too long when they are not.
        if let Ok(written) = message.write() {
            let again = ChallengeMessage::parse(&written)?;
            assert_eq!((again.flags, again.target_info), (message.flags, message.target_info));
        }
    }
    let message = AuthenticateMessage::parse(data)?;
    if let Ok(written) = message.write() {
        let again = AuthenticateMessage::parse(&written)?;
        assert_eq!((again.nt_response, again.encrypted_key), (message.nt_response, message.encrypted_key));
        assert_eq!(again.user.to_string(), message.user.to_string());
    }
    let response = NtlmResponse::parse(message.nt_response)?;
    assert_eq!(response.proved.len() + 16, message.nt_response.len());
    assert!(response.pairs.iter().count() <= data.len() / 4);
    Ok(())
}

fn pairs(bytes: &[u8]) {
    if let Ok(pairs) = AvPairs::parse(bytes) {
        let total: usize = pairs.iter().map(|(_, value)| value.len() + 4).sum();
        assert!(total + 4 <= bytes.len());
        assert_eq!(pairs.has_mic(), pairs.flags() & 2 != 0);
    }
}
