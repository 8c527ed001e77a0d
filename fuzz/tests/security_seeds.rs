//! The seeds of the targets `ntlm` and `spnego` are the tokens of an authentication.

mod common;

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, Credentials, Fresh, Initiator, NegTokenInit, NegTokenResp, NtHash,
    NtlmAcceptor, NtlmClient, Step,
};

fn fresh(seed: u8) -> Fresh {
    Fresh::new(0x01dd_5b3a_0000_0000, [seed; 32])
}

/// The tokens of both sides, by turns.
fn tokens(credentials: Credentials) -> Vec<Vec<u8>> {
    let client = NtlmClient::new(credentials, "CLIENT".into(), "cifs/server".into());
    let mut client = Initiator::new(vec![Box::new(client)]);
    let accounts = |_: &str, _: &str| Some(NtHash::of_password("secret"));
    let config = AcceptorConfig { anonymous: true, ..AcceptorConfig::new("SERVER") };
    let mut server = Acceptor::new(vec![Box::new(NtlmAcceptor::new(config, accounts))]);
    let mut tokens = vec![server.hint().expect("a mechanism")];
    let mut token = Vec::new();
    while let Step::Continue(request) =
        client.step(&token, &fresh(tokens.len() as u8)).expect("a right password")
    {
        let answer = server.step(&request, &fresh(tokens.len() as u8)).expect("a right password");
        token = match answer {
            Step::Continue(answer) => answer,
            Step::Done(answer) => answer.unwrap_or_default(),
        };
        tokens.extend([request, token.clone()]);
    }
    tokens
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let tester = Credentials::User {
        user: "tester".into(),
        domain: String::new(),
        hash: NtHash::of_password("secret"),
    };
    let mut seeds = vec![("spnego/seed-reject".into(), Acceptor::rejection().expect("short"))];
    for (name, credentials) in [("user", tester), ("nobody", Credentials::Anonymous)] {
        for (at, token) in (0..).zip(tokens(credentials)) {
            let message = match NegTokenInit::parse(&token) {
                Ok(init) => init.mech_token,
                Err(_) => NegTokenResp::parse(&token).expect("a token").response_token,
            };
            seeds.extend(message.map(|message| (format!("ntlm/seed-{name}-{at}"), message.to_vec())));
            seeds.push((format!("spnego/seed-{name}-{at}"), token));
        }
    }
    seeds
}

#[test]
fn the_seeds_are_the_tokens_of_an_authentication() {
    common::kept(seeds());
}
