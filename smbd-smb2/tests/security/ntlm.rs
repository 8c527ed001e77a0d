//! NTLM without SPNEGO around it: a client and an acceptor, and who stands between them.

use std::cell::Cell;

use smbd_smb2::security::{
    AcceptorConfig, AnyMechanism, AuthError, AuthenticateMessage, AvId, AvPairs, ChallengeMessage,
    Credentials, Established, Identity, NegotiateFlags, NtlmResponse, Step,
};

use crate::tools::{NOW, fresh, ntlm_acceptor, ntlm_client, user};

/// Three messages; each may be changed on its way.
struct Run {
    client: AnyMechanism,
    acceptor: AnyMechanism,
}

impl Run {
    fn new(credentials: Credentials, config: AcceptorConfig) -> Self {
        Self { client: ntlm_client(credentials), acceptor: ntlm_acceptor(config) }
    }

    fn play(&mut self, change: impl Fn(usize, &mut Vec<u8>)) -> Result<Step, AuthError> {
        let mut negotiate = continued(self.client.step(&[], &fresh(1))?);
        change(1, &mut negotiate);
        let mut challenge = continued(self.acceptor.step(&negotiate, &fresh(2))?);
        change(2, &mut challenge);
        let Step::Done(Some(mut authenticate)) = self.client.step(&challenge, &fresh(3))? else { panic!() };
        change(3, &mut authenticate);
        self.acceptor.step(&authenticate, &fresh(4))
    }

    fn established(&self) -> (Established, Established) {
        (self.client.established().unwrap(), self.acceptor.established().unwrap())
    }
}

fn continued(step: Step) -> Vec<u8> {
    let Step::Continue(token) = step else { panic!("{step:?}") };
    token
}

fn config() -> AcceptorConfig {
    AcceptorConfig { dns_computer: "server.example.net".into(), ..AcceptorConfig::new("SERVER") }
}

fn tester() -> Credentials {
    user("tester", "WORK", "secret")
}

#[test]
fn both_sides_know_the_user_and_have_one_key() {
    let mut run = Run::new(tester(), config());
    assert_eq!(run.play(|_, _| {}), Ok(Step::Done(None)));
    let (client, server) = run.established();
    let identity = Identity::User { user: "tester".into(), domain: "WORK".into() };
    assert_eq!((&client.identity, &server.identity), (&identity, &identity));
    let keys = [client, server].map(|side| side.session_key.unwrap().expose().to_vec());
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0].len(), 16);

    let mic = run.client.mic(b"list").unwrap();
    assert_eq!(run.acceptor.verify_mic(b"list", &mic), Ok(()));
    assert_eq!(run.acceptor.verify_mic(b"lisu", &mic), Err(AuthError::BadMic));
    assert_eq!(run.acceptor.verify_mic(b"list", &mic[..15]), Err(AuthError::BadMic));
    assert_eq!(run.client.verify_mic(b"list", &mic), Err(AuthError::BadMic));
    let mic = run.acceptor.mic(b"list").unwrap();
    assert_eq!(run.client.verify_mic(b"list", &mic), Ok(()));
}

#[test]
fn a_name_in_small_letters_is_the_same_and_a_domain_may_be_anything() {
    for (name, domain) in [("TESTER", ""), ("TesteR", "somewhere.else"), ("tester", "ÄÖ")] {
        let mut run = Run::new(user(name, domain, "secret"), config());
        assert_eq!(run.play(|_, _| {}), Ok(Step::Done(None)));
    }
}

#[test]
fn a_wrong_password_or_user_is_refused_in_the_same_words() {
    for credentials in [
        user("tester", "WORK", "Secret"),
        user("tester", "WORK", ""),
        user("tester2", "WORK", "secret"),
        user("", "WORK", "secret"),
    ] {
        let mut run = Run::new(credentials, config());
        assert_eq!(run.play(|_, _| {}), Err(AuthError::LogonFailure));
        assert!(run.acceptor.established().is_none());
        assert_eq!(run.acceptor.mic(b""), None);
        assert_eq!(run.acceptor.step(&[], &fresh(9)), Err(AuthError::OutOfOrder));
    }
}

#[test]
fn a_wrong_password_is_refused_whatever_flags_the_messages_have() {
    for bit in 0..32 {
        for at in [1, 2, 3] {
            for is_set in [false, true] {
                let mut run = Run::new(user("tester", "WORK", "wrong"), config());
                let done = run.play(|message_at, message| {
                    let place = [0, 12, 20, 60][at] + bit / 8;
                    if message_at == at {
                        let mask = 1 << (bit % 8);
                        message[place] = if is_set { message[place] | mask } else { message[place] & !mask };
                    }
                });
                assert!(done.is_err(), "bit {bit} of message {at}: {done:?}");
                assert!(run.acceptor.established().is_none());
            }
        }
    }
}

#[test]
fn no_byte_of_three_messages_can_be_changed_without_notice() {
    let lengths = [const { Cell::new(0) }; 3];
    Run::new(tester(), config()).play(|at, message| lengths[at - 1].set(message.len())).unwrap();
    for (at, len) in (1..).zip(lengths) {
        for place in 0..len.get() {
            let mut run = Run::new(tester(), config());
            let done = run.play(|message_at, message| {
                if message_at == at {
                    message[place] ^= 0x10;
                }
            });
            assert!(done.is_err(), "byte {place} of message {at}: {done:?}");
        }
    }
}

#[test]
fn the_client_answers_with_the_servers_time_a_mic_and_its_targets_name() {
    let mut run = Run::new(tester(), config());
    run.play(|at, message| match at {
        2 => {
            let challenge = ChallengeMessage::parse(message).unwrap();
            let pairs = AvPairs::parse(challenge.target_info).unwrap();
            assert_eq!(pairs.timestamp(), Some(NOW));
            assert_eq!(pairs.find(AvId::DNS_COMPUTER_NAME).map(<[u8]>::len), Some(36));
            assert_eq!(pairs.flags(), 0);
        }
        3 => {
            let message = AuthenticateMessage::parse(message).unwrap();
            assert_eq!(message.lm_response, [0; 24]);
            assert_eq!(message.workstation.to_string(), "CLIENT");
            let response = NtlmResponse::parse(message.nt_response).unwrap();
            assert!(response.pairs.has_mic());
            assert_eq!(response.time, NOW);
            assert_eq!(response.pairs.find(AvId::CHANNEL_BINDINGS), Some(&[0; 16][..]));
            let name = response.pairs.find(AvId::TARGET_NAME).unwrap();
            assert_eq!(name, "cifs/server".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        }
        _ => {}
    })
    .unwrap();
}

#[test]
fn the_client_sends_nothing_to_a_server_that_is_too_weak_or_does_not_say_who_it_is() {
    let answer = |change: &dyn Fn(&mut ChallengeMessage<'_>)| {
        let mut run = Run::new(tester(), config());
        let done = run.play(|at, message| {
            if at == 2 {
                let copy = message.clone();
                let mut read = ChallengeMessage::parse(&copy).unwrap();
                change(&mut read);
                *message = read.write().unwrap();
            }
        });
        done.unwrap_err()
    };
    for missing in [
        NegotiateFlags::UNICODE,
        NegotiateFlags::EXTENDED_SESSIONSECURITY,
        NegotiateFlags::TARGET_INFO,
        NegotiateFlags::KEY_128,
    ] {
        let refused = answer(&|challenge| challenge.flags = challenge.flags.with(missing, false));
        assert_eq!(refused, AuthError::Weak { missing });
    }
    assert_eq!(answer(&|challenge| challenge.target_info = &[0; 4]), AuthError::NoTargetNames);
    assert_eq!(answer(&|challenge| challenge.target_info = &[]), AuthError::NoEnd);
    assert_eq!(answer(&|challenge| challenge.target_info = &[1, 0, 0, 0]), AuthError::NoEnd);
}

#[test]
fn responses_of_older_versions_are_refused() {
    for len in [0, 1, 23, 24] {
        let mut run = Run::new(tester(), config());
        let done = run.play(|at, message| {
            if at == 3 {
                let read = AuthenticateMessage::parse(message).unwrap();
                let response = vec![7; len];
                *message = AuthenticateMessage { nt_response: &response, ..read }.write().unwrap();
            }
        });
        assert_eq!(done, Err(AuthError::NotVersion2 { len }));
    }
}

#[test]
fn a_server_that_does_not_exchange_keys_gets_the_key_of_the_response() {
    let mut run = Run::new(tester(), config());
    let mut challenge = Vec::new();
    let negotiate = continued(run.client.step(&[], &fresh(1)).unwrap());
    challenge.extend(continued(run.acceptor.step(&negotiate, &fresh(2)).unwrap()));
    let read = ChallengeMessage::parse(&challenge).unwrap();
    let flags = read.flags.with(NegotiateFlags::KEY_EXCH, false);
    let changed = ChallengeMessage { flags, ..read }.write().unwrap();
    let Step::Done(Some(authenticate)) = run.client.step(&changed, &fresh(3)).unwrap() else { panic!() };
    assert_eq!(AuthenticateMessage::parse(&authenticate).unwrap().encrypted_key, b"");
    // The MIC covers the challenge as it was sent.
    assert_eq!(run.acceptor.step(&authenticate, &fresh(4)), Err(AuthError::BadMic));
}

#[test]
fn an_unknown_user_is_a_guest_if_guests_are_let_in_and_one_with_a_wrong_password_never() {
    let guests = AcceptorConfig { guests: true, ..config() };
    let mut run = Run::new(user("somebody", "", "anything"), guests.clone());
    assert_eq!(run.play(|_, _| {}), Ok(Step::Done(None)));
    let server = run.acceptor.established().unwrap();
    assert_eq!(server.identity, Identity::Guest);
    assert!(server.session_key.is_none() && run.acceptor.mic(b"").is_none());
    assert_eq!(run.acceptor.verify_mic(b"", &[0; 16]), Err(AuthError::BadMic));

    let mut run = Run::new(user("tester", "", "wrong"), guests.clone());
    assert_eq!(run.play(|_, _| {}), Err(AuthError::LogonFailure));
    let mut run = Run::new(user("tester", "", "secret"), guests);
    run.play(|_, _| {}).unwrap();
    assert!(matches!(run.acceptor.established().unwrap().identity, Identity::User { .. }));
}

#[test]
fn an_unknown_user_is_a_guest_whatever_the_response_is_and_a_known_one_is_refused_without_a_proof() {
    let guests = AcceptorConfig { guests: true, ..config() };
    for (name, expected) in
        [("nobody", Ok(Step::Done(None))), ("tester", Err(AuthError::NotVersion2 { len: 24 }))]
    {
        let mut run = Run::new(tester(), guests.clone());
        let negotiate = continued(run.client.step(&[], &fresh(1)).unwrap());
        continued(run.acceptor.step(&negotiate, &fresh(2)).unwrap());
        let zeros = [0; 24];
        let user: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let message = AuthenticateMessage {
            lm_response: &zeros,
            nt_response: &zeros,
            user: user.as_slice().into(),
            ..AuthenticateMessage::default()
        };
        assert_eq!(run.acceptor.step(&message.write().unwrap(), &fresh(3)), expected, "{name}");
    }
}

#[test]
fn nobody_is_let_in_if_that_is_allowed_and_has_no_key() {
    let mut run = Run::new(Credentials::Anonymous, config());
    assert_eq!(run.play(|_, _| {}), Err(AuthError::LogonFailure));
    let mut run = Run::new(Credentials::Anonymous, AcceptorConfig { anonymous: true, ..config() });
    assert_eq!(run.play(|_, _| {}), Ok(Step::Done(None)));
    let (client, server) = run.established();
    for side in [client, server] {
        assert_eq!(side.identity, Identity::Anonymous);
        assert!(side.session_key.is_none());
    }
    // It is no protection, but both sides can make it.
    let mic = run.client.mic(b"list").unwrap();
    assert_eq!(run.acceptor.verify_mic(b"list", &mic), Ok(()));
}

#[test]
fn a_response_that_is_too_old_or_too_new_is_refused() {
    let lifetime = 36_000_000_000;
    let mut refused = 0;
    for (now, is_valid) in [
        (NOW + lifetime, true),
        (NOW - lifetime, true),
        (NOW + lifetime + 1, false),
        (0, false),
        (u64::MAX, false),
    ] {
        let config = AcceptorConfig { lifetime: Some(lifetime), ..config() };
        let mut run = Run::new(tester(), config);
        let negotiate = continued(run.client.step(&[], &fresh(1)).unwrap());
        let challenge = continued(run.acceptor.step(&negotiate, &fresh(2)).unwrap());
        let Step::Done(Some(authenticate)) = run.client.step(&challenge, &fresh(3)).unwrap() else {
            panic!()
        };
        let later = smbd_smb2::security::Fresh::new(now, [1; 32]);
        let done = run.acceptor.step(&authenticate, &later);
        assert_eq!(done == Ok(Step::Done(None)), is_valid, "{now}");
        refused += usize::from(done == Err(AuthError::Expired { made: NOW, now }));
    }
    assert_eq!(refused, 3);
}

#[test]
fn an_encrypted_key_of_another_length_is_refused() {
    let mut run = Run::new(tester(), config());
    let done = run.play(|at, message| {
        if at == 3 {
            let read = AuthenticateMessage::parse(message).unwrap();
            *message = AuthenticateMessage { encrypted_key: &[1; 15], ..read }.write().unwrap();
        }
    });
    assert_eq!(done, Err(AuthError::SessionKeyLength { len: 15 }));
}

#[test]
fn a_client_without_unicode_is_refused() {
    let mut run = Run::new(tester(), config());
    let done = run.play(|at, message| {
        if at == 1 {
            message[12] &= 0xfe;
        }
    });
    assert_eq!(done, Err(AuthError::Weak { missing: NegotiateFlags::UNICODE }));
}

#[test]
fn no_step_follows_a_failure_or_the_end() {
    let mut client = ntlm_client(tester());
    assert_eq!(client.step(b"NTLMSSP\0", &fresh(1)), Err(AuthError::OutOfOrder));
    assert_eq!(client.step(&[], &fresh(1)), Err(AuthError::OutOfOrder));
    let mut run = Run::new(tester(), config());
    run.play(|_, _| {}).unwrap();
    assert_eq!(run.client.step(&[], &fresh(1)), Err(AuthError::OutOfOrder));
    assert_eq!(run.acceptor.step(&[], &fresh(1)), Err(AuthError::OutOfOrder));
    assert!(run.acceptor.established().is_none());
}

#[test]
fn a_challenge_has_a_dns_name_even_of_a_server_that_has_none_in_dns() {
    let mut run = Run::new(tester(), AcceptorConfig::new("SERVER"));
    let done = run.play(|at, message| {
        if at == 2 {
            let challenge = ChallengeMessage::parse(message).unwrap();
            let pairs = AvPairs::parse(challenge.target_info).unwrap();
            assert_eq!(pairs.find(AvId::DNS_COMPUTER_NAME), Some(&b"S\0E\0R\0V\0E\0R\0"[..]));
        }
    });
    assert_eq!(done, Ok(Step::Done(None)));
}
