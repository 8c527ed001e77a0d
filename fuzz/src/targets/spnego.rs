//! Tokens of SPNEGO.

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, AuthError, Established, Initiator, NegTokenInit, NegTokenResp, NtlmAcceptor,
    NtlmClient, Step,
};

use super::security::{accounts, fresh, tester};

/// What can be read of a token is read again as the same from what is written of it; both sides answer it in every state or fail;
/// nobody logs in without a password.
pub fn spnego(data: &[u8]) {
    if let Ok(token) = NegTokenInit::parse(data) {
        assert!((1..=16).contains(&token.mech_types.iter().count()));
        let written = token.write().expect("it came");
        assert!(written.len() <= data.len());
        assert_eq!(NegTokenInit::parse(&written), Ok(token));
    }
    if let Ok(token) = NegTokenResp::parse(data) {
        let written = token.write().expect("it came");
        // There is one way to write it.
        assert_eq!(written, data);
    }
    let (mut client, mut server) = (client(), server());
    let Ok(Step::Continue(first)) = client.step(&[], &fresh(1)) else { panic!("the client begins") };
    fails_or_goes_on(self::server(), Acceptor::step, Acceptor::established, data);
    let Ok(Step::Continue(second)) = server.step(&first, &fresh(2)) else { panic!("the server answers") };
    fails_or_goes_on(server, Acceptor::step, Acceptor::established, data);

    let again = |steps: &[&[u8]]| {
        let mut client = self::client();
        for (at, token) in (0..).zip(steps) {
            assert!(client.step(token, &fresh(at)).is_ok());
        }
        client
    };
    fails_or_goes_on(client, Initiator::step, |_| None, data);
    fails_or_goes_on(again(&[&[], &second]), Initiator::step, |_| None, data);
}

fn client() -> Initiator {
    Initiator::new(vec![Box::new(NtlmClient::new(tester(), "CLIENT".into(), "cifs/server".into()))])
}

fn server() -> Acceptor {
    let config = AcceptorConfig { guests: true, anonymous: true, ..AcceptorConfig::new("SERVER") };
    Acceptor::new(vec![Box::new(NtlmAcceptor::new(config, accounts))])
}

fn fails_or_goes_on<S>(
    mut side: S,
    step: impl Fn(&mut S, &[u8], &smbd_smb2::security::Fresh) -> Result<Step, AuthError>,
    established: impl Fn(&S) -> Option<Established>,
    token: &[u8],
) {
    match step(&mut side, token, &fresh(9)) {
        Ok(Step::Continue(answer) | Step::Done(Some(answer))) => {
            assert!(answer.len() < 600 + 2 * token.len())
        }
        Ok(Step::Done(None)) => {}
        Err(error) => {
            assert!(error.to_string().len() < 300);
            assert_eq!(step(&mut side, token, &fresh(9)), Err(AuthError::OutOfOrder));
        }
    }
    assert!(established(&side).is_none_or(|established| established.session_key.is_none()));
}
