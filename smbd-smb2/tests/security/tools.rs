//! What several tests need.

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, AnyMechanism, Credentials, Fresh, Initiator, NtHash, NtlmAcceptor, NtlmClient,
};

/// 2026-11-23, as a FILETIME.
pub const NOW: u64 = 0x01dd_5b3a_0000_0000;

/// Time and entropy that are known.
pub fn fresh(seed: u8) -> Fresh {
    Fresh::new(NOW, std::array::from_fn(|at| seed.wrapping_mul(37).wrapping_add(at as u8)))
}

/// `data` cut at these places, which are taken modulo its length.
pub fn cut<'a>(data: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place % (data.len() + 1)).collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in places {
        pieces.push(&data[from..place]);
        from = place;
    }
    pieces.push(&data[from..]);
    pieces
}

/// The same for data that are to be changed.
pub fn cut_mut<'a>(data: &'a mut [u8], places: &[usize]) -> Vec<&'a mut [u8]> {
    let lengths: Vec<_> = cut(data, places).into_iter().map(<[u8]>::len).collect();
    let mut rest = data;
    let mut pieces = Vec::new();
    for len in lengths {
        let (piece, behind) = rest.split_at_mut(len);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

pub fn user(user: &str, domain: &str, password: &str) -> Credentials {
    Credentials::User { user: user.into(), domain: domain.into(), hash: NtHash::of_password(password) }
}

pub fn ntlm_client(credentials: Credentials) -> AnyMechanism {
    Box::new(NtlmClient::new(credentials, "CLIENT".into(), "cifs/server".into()))
}

/// With one user, `tester` with the password `secret`.
pub fn ntlm_acceptor(config: AcceptorConfig) -> AnyMechanism {
    let accounts = |user: &str, _: &str| {
        (smbd_smb2::security::capital(user) == "TESTER").then(|| NtHash::of_password("secret"))
    };
    Box::new(NtlmAcceptor::new(config, accounts))
}

pub fn initiator(credentials: Credentials) -> Initiator {
    Initiator::new(vec![ntlm_client(credentials)])
}

pub fn acceptor(config: AcceptorConfig) -> Acceptor {
    Acceptor::new(vec![ntlm_acceptor(config)])
}
