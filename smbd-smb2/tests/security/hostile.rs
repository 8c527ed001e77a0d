//! Whatever a peer sends: an error or a value, soon, and in memory that its length bounds.

use allocation_counter::measure;
use proptest::prelude::*;
use smbd_smb2::security::{
    AcceptorConfig, AuthenticateMessage, AvPairs, ChallengeMessage, NegTokenInit, NegTokenResp,
    NegotiateMessage, NtlmResponse, Step,
};

use crate::tools::{acceptor, fresh, initiator, user};

/// Tokens of a whole authentication: the client's first and second, the server's first and second.
fn tokens() -> [Vec<u8>; 4] {
    let (mut client, mut server) =
        (initiator(user("tester", "", "secret")), acceptor(AcceptorConfig::new("SERVER")));
    let Ok(Step::Continue(first)) = client.step(&[], &fresh(0)) else { panic!() };
    let Ok(Step::Continue(second)) = server.step(&first, &fresh(1)) else { panic!() };
    let Ok(Step::Continue(third)) = client.step(&second, &fresh(2)) else { panic!() };
    let Ok(Step::Done(Some(fourth))) = server.step(&third, &fresh(3)) else { panic!() };
    [first, second, third, fourth]
}

/// Changed in one of the ways in which lengths and offsets go wrong.
fn change(token: &mut Vec<u8>, at: usize, value: u8, kind: u8) {
    let at = at % token.len();
    match kind % 5 {
        0 => token[at] = value,
        1 => token.truncate(at),
        2 => token.insert(at, value),
        3 => drop(token.remove(at)),
        _ => {
            let end = (at + 4).min(token.len());
            token[at..end].fill(value);
        }
    }
}

fn read_all(bytes: &[u8]) {
    let _ = NegotiateMessage::parse(bytes);
    let _ = ChallengeMessage::parse(bytes);
    let _ = AuthenticateMessage::parse(bytes);
    let _ = NtlmResponse::parse(bytes);
    let _ = AvPairs::parse(bytes).map(|pairs| pairs.iter().count());
    let _ = NegTokenInit::parse(bytes).map(|token| token.mech_types.iter().count());
    let _ = NegTokenResp::parse(bytes);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_without_allocation(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for prefix in [&b""[..], b"NTLMSSP\0\x01\0\0\0", b"NTLMSSP\0\x02\0\0\0", b"NTLMSSP\0\x03\0\0\0"] {
            let bytes = [prefix, &bytes].concat();
            prop_assert_eq!(measure(|| read_all(&bytes)).count_total, 0);
        }
    }

    #[test]
    fn a_changed_token_gives_an_error_or_a_user_and_memory_is_bounded(
        which in 0..4_usize, at: usize, value: u8, kind: u8, again: bool,
    ) {
        let all = tokens();
        let mut token = all[which].clone();
        change(&mut token, at, value, kind);
        if again && !token.is_empty() {
            change(&mut token, at / 3, value ^ 0x80, kind / 5);
        }
        let (mut client, mut server) =
            (initiator(user("tester", "", "secret")), acceptor(AcceptorConfig::new("SERVER")));
        client.step(&[], &fresh(0)).unwrap();
        if which == 2 {
            server.step(&all[0], &fresh(1)).unwrap();
        }
        if which == 3 {
            client.step(&all[1], &fresh(2)).unwrap();
        }
        let len = token.len() as u64;
        let used = measure(|| {
            let _ = if which % 2 == 0 { server.step(&token, &fresh(3)) } else { client.step(&token, &fresh(2)) };
        });
        prop_assert!(used.bytes_max < 4000 + 12 * len, "{} bytes for {len}", used.bytes_max);
        if token != all[which] && which == 2 {
            // SPNEGO has bytes that nothing protects, NTLM and the list of mechanisms have none.
            if let Some(established) = server.established() {
                prop_assert!(established.session_key.is_some());
            }
        }
    }
}

#[test]
fn the_longest_tokens_are_read_in_bounded_memory() {
    // A list of AV_PAIR as long as a token can carry, and offsets that name the same bytes again and again.
    let mut message = tokens()[2].clone();
    message.resize(65_535, 0);
    for prefix in
        [&b"NTLMSSP\0\x03\0\0\0"[..], b"NTLMSSP\0\x01\0\0\0", b"\x60\x82\xff\xfb", b"\xa1\x82\xff\xfb"]
    {
        message[..prefix.len()].copy_from_slice(prefix);
        let used = measure(|| {
            let mut server = acceptor(AcceptorConfig::new("SERVER"));
            let _ = server.step(&message, &fresh(1));
        });
        assert!(used.bytes_max < 300_000, "{}", used.bytes_max);
    }
}
