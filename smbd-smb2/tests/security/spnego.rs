//! SPNEGO: which mechanism, and what protects the choice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, AnyMechanism, AuthError, Credentials, Established, Fresh, Identity, Initiator,
    KERBEROS_OID, KERBEROS_OID_MICROSOFT, MechTypes, Mechanism, NegState, NegTokenInit, NegTokenResp, Secret,
    Step,
};

use crate::hex::hex;
use crate::tools::{acceptor, fresh, initiator, ntlm_acceptor, ntlm_client, user};

/// Something like Kerberos: one token each way, or more.
struct Tickets {
    left: usize,
    done: bool,
    has_ticket: bool,
    has_mic: bool,
    steps: Arc<AtomicUsize>,
    tag: &'static [u8],
}

impl Tickets {
    fn new(left: usize, tag: &'static [u8]) -> Self {
        Self { left, done: false, has_ticket: true, has_mic: true, steps: Arc::default(), tag }
    }
}

impl Mechanism for Tickets {
    fn oids(&self) -> &[&'static [u8]] {
        &[KERBEROS_OID_MICROSOFT, KERBEROS_OID]
    }

    fn step(&mut self, token: &[u8], _: &Fresh) -> Result<Step, AuthError> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        if !self.has_ticket {
            return Err(AuthError::Mechanism("there is no ticket".into()));
        }
        if token.is_empty() {
            return Ok(Step::Continue(self.tag.to_vec()));
        }
        self.left -= 1;
        self.done = self.left == 0;
        let token = self.tag.to_vec();
        Ok(if self.done {
            Step::Done((self.tag != b"ap-req").then_some(token))
        } else {
            Step::Continue(token)
        })
    }

    fn established(&self) -> Option<Established> {
        let identity = Identity::User { user: "tester".into(), domain: "EXAMPLE.NET".into() };
        self.done.then(|| Established { identity, session_key: Secret::new(&[5; 32]) })
    }

    fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.has_mic.then(|| [b"mic", message].concat())
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        if self.mic(message).as_deref() == Some(mic) { Ok(()) } else { Err(AuthError::BadMic) }
    }
}

fn tickets_client() -> AnyMechanism {
    Box::new(Tickets::new(1, b"ap-req"))
}

fn tickets_acceptor() -> AnyMechanism {
    Box::new(Tickets::new(1, b"ap-rep"))
}

fn tester() -> AnyMechanism {
    ntlm_client(user("tester", "", "secret"))
}

fn server() -> AnyMechanism {
    ntlm_acceptor(AcceptorConfig::new("SERVER"))
}

/// Until the client is done; tokens may be changed on their way: those of the client are 0, 2, .., those of the server 1, 3, ...
fn play(
    client: &mut Initiator,
    server: &mut Acceptor,
    change: impl Fn(usize, &mut Vec<u8>),
) -> Result<usize, AuthError> {
    let (mut token, mut at) = (Vec::new(), 0);
    let mut is_done = false;
    while let Step::Continue(mut request) = client.step(&token, &fresh(at as u8))? {
        assert!(!is_done && at < 20, "the server was done, and the client goes on");
        change(at, &mut request);
        (token, is_done) = match server.step(&request, &fresh(at as u8 + 1))? {
            Step::Continue(token) => (token, false),
            Step::Done(token) => (token.unwrap_or_default(), true),
        };
        change(at + 1, &mut token);
        at += 2;
    }
    if is_done { Ok(at) } else { Err(AuthError::OutOfOrder) }
}

fn keys(client: &Initiator, server: &Acceptor) -> [Vec<u8>; 2] {
    [client.established(), server.established()]
        .map(|side| side.unwrap().session_key.unwrap().expose().to_vec())
}

#[test]
fn ntlm_takes_two_tokens_each_way_and_has_a_mic_both_ways() {
    let (mut client, mut server) =
        (initiator(user("tester", "", "secret")), acceptor(AcceptorConfig::new("S")));
    let tokens = play(&mut client, &mut server, |at, token| {
        let mic = match at {
            0 => NegTokenInit::parse(token).unwrap().mech_list_mic,
            _ => NegTokenResp::parse(token).unwrap().mech_list_mic,
        };
        assert_eq!(mic.is_some(), at >= 2, "token {at}");
    });
    assert_eq!(tokens, Ok(4));
    let [own, other] = keys(&client, &server);
    assert_eq!(own, other);
}

#[test]
fn a_client_that_sends_ntlm_alone_gets_ntlm_alone() {
    let mut client = tester();
    let mut server = acceptor(AcceptorConfig::new("SERVER"));
    let Ok(Step::Continue(negotiate)) = client.step(&[], &fresh(1)) else { panic!() };
    let Ok(Step::Continue(challenge)) = server.step(&negotiate, &fresh(2)) else { panic!() };
    assert!(challenge.starts_with(b"NTLMSSP\0"));
    let Ok(Step::Done(Some(authenticate))) = client.step(&challenge, &fresh(3)) else { panic!() };
    assert_eq!(server.step(&authenticate, &fresh(4)), Ok(Step::Done(None)));
    assert_eq!(
        server.established().unwrap().session_key.unwrap().expose(),
        client.established().unwrap().session_key.unwrap().expose()
    );
}

#[test]
fn the_preferred_mechanism_is_taken_at_once() {
    let mut client = Initiator::new(vec![tickets_client(), tester()]);
    let mut server = Acceptor::new(vec![server(), tickets_acceptor()]);
    // The client of this mechanism is done with the server's token, so that it sends its MIC, and the server its own.
    let tokens = play(&mut client, &mut server, |_, _| {});
    assert_eq!(tokens, Ok(2));
    assert_eq!(keys(&client, &server)[0], [5; 32]);
}

#[test]
fn another_mechanism_is_taken_with_a_mic_if_the_server_has_not_the_preferred_one() {
    let mut client = Initiator::new(vec![tickets_client(), tester()]);
    let mut server = Acceptor::new(vec![server()]);
    let tokens = play(&mut client, &mut server, |at, token| {
        if at == 1 {
            let answer = NegTokenResp::parse(token).unwrap();
            assert_eq!((answer.state, answer.response_token), (Some(NegState::RequestMic), None));
        }
    });
    assert_eq!(tokens, Ok(6));
    let [own, other] = keys(&client, &server);
    assert_eq!(own, other);
}

#[test]
fn nobody_between_them_can_take_the_preferred_mechanism_away() {
    // Whoever stands between takes Kerberos off the list, and the token with it; the server would have had it.
    let mut client = Initiator::new(vec![tickets_client(), tester()]);
    let mut server = Acceptor::new(vec![tickets_acceptor(), server()]);
    let only_ntlm = {
        let mut alone = Initiator::new(vec![tester()]);
        let Ok(Step::Continue(token)) = alone.step(&[], &fresh(0)) else { panic!() };
        NegTokenInit::parse(&token).unwrap().mech_types.bytes().to_vec()
    };
    let done = play(&mut client, &mut server, |at, token| {
        if at == 0 {
            let mech_types = MechTypes::parse(&only_ntlm).unwrap();
            *token = NegTokenInit { mech_types, mech_token: None, mech_list_mic: None }.write().unwrap();
        }
    });
    // The lists are not the same, so the client's MIC is wrong for the server.
    assert_eq!(done, Err(AuthError::BadMic));
    assert!(server.established().is_none());

    // If he leaves the MICs out as well, the client misses the server's.
    let mut client = Initiator::new(vec![tickets_client(), tester()]);
    let mut server = Acceptor::new(vec![tickets_acceptor(), self::server()]);
    let done = play(&mut client, &mut server, |at, token| {
        if at == 0 {
            let mech_types = MechTypes::parse(&only_ntlm).unwrap();
            *token = NegTokenInit { mech_types, mech_token: None, mech_list_mic: None }.write().unwrap();
        } else {
            let copy = token.clone();
            let read = NegTokenResp::parse(&copy).unwrap();
            *token = NegTokenResp { mech_list_mic: None, ..read }.write().unwrap();
        }
    });
    assert_eq!(done, Err(AuthError::NoMic));
    assert!(client.established().is_none());
}

#[test]
fn a_mechanism_that_cannot_begin_is_not_offered() {
    let without = Tickets { has_ticket: false, ..Tickets::new(1, b"ap-req") };
    let steps = without.steps.clone();
    let mut client = Initiator::new(vec![Box::new(without), tester()]);
    let mut server = Acceptor::new(vec![server()]);
    assert_eq!(play(&mut client, &mut server, |_, _| {}), Ok(4));
    assert_eq!(steps.load(Ordering::Relaxed), 1);

    let without = Tickets { has_ticket: false, ..Tickets::new(1, b"ap-req") };
    let mut client = Initiator::new(vec![Box::new(without)]);
    let refused = client.step(&[], &fresh(0));
    assert_eq!(refused, Err(AuthError::Mechanism("there is no ticket".into())));
    assert_eq!(Initiator::new(vec![]).step(&[], &fresh(0)), Err(AuthError::NoCommonMechanism));
}

#[test]
fn without_a_common_mechanism_both_sides_say_so() {
    let mut client = Initiator::new(vec![tickets_client()]);
    let mut server = Acceptor::new(vec![server()]);
    assert_eq!(play(&mut client, &mut server, |_, _| {}), Err(AuthError::NoCommonMechanism));
    let mut client = initiator(user("tester", "", "secret"));
    client.step(&[], &fresh(0)).unwrap();
    assert_eq!(client.step(&Acceptor::rejection().unwrap(), &fresh(0)), Err(AuthError::Rejected));
    assert_eq!(client.step(&[], &fresh(0)), Err(AuthError::OutOfOrder));
}

#[test]
fn a_wrong_mic_is_refused_on_each_side() {
    for changed in [2, 3] {
        let (mut client, mut server) =
            (initiator(user("tester", "", "secret")), acceptor(AcceptorConfig::new("S")));
        let done = play(&mut client, &mut server, |at, token| {
            if at == changed {
                // It is the end of the token; its last bytes are the sequence number.
                let place = token.len() - 5;
                token[place] ^= 1;
            }
        });
        assert_eq!(done, Err(AuthError::BadMic), "token {changed}");
    }
}

#[test]
fn a_server_without_a_mic_is_taken_if_it_took_the_preferred_mechanism() {
    // ksmbd answers like that, or with nothing at all.
    for answer in [Some(NegState::AcceptCompleted), None] {
        let (mut client, mut server) =
            (initiator(user("tester", "", "secret")), acceptor(AcceptorConfig::new("S")));
        let done = play(&mut client, &mut server, |at, token| {
            if at == 3 {
                let last = NegTokenResp { state: answer, ..NegTokenResp::default() };
                *token = if answer.is_some() { last.write().unwrap() } else { Vec::new() };
            }
        });
        assert_eq!(done, Ok(4));
        assert!(client.established().is_some());
    }
}

#[test]
fn a_guest_and_nobody_are_let_in_through_spnego() {
    let config = AcceptorConfig { guests: true, anonymous: true, ..AcceptorConfig::new("SERVER") };
    for (credentials, identity) in
        [(user("somebody", "", "x"), Identity::Guest), (Credentials::Anonymous, Identity::Anonymous)]
    {
        let (mut client, mut server) = (initiator(credentials), acceptor(config.clone()));
        assert_eq!(play(&mut client, &mut server, |_, _| {}), Ok(4));
        assert_eq!(server.established().unwrap().identity, identity);
        assert!(server.established().unwrap().session_key.is_none());
    }
}

#[test]
fn a_mechanism_of_several_tokens_goes_to_its_end() {
    let mut client = Initiator::new(vec![Box::new(Tickets::new(3, b"ap-req"))]);
    let mut server = Acceptor::new(vec![Box::new(Tickets::new(3, b"ap-rep"))]);
    assert_eq!(play(&mut client, &mut server, |_, _| {}), Ok(6));
}

#[test]
fn success_before_the_mechanism_is_done_is_refused() {
    let mut client = initiator(user("tester", "", "secret"));
    client.step(&[], &fresh(0)).unwrap();
    let done = NegTokenResp { state: Some(NegState::AcceptCompleted), ..NegTokenResp::default() };
    assert_eq!(client.step(&done.write().unwrap(), &fresh(1)), Err(AuthError::OutOfOrder));
    assert!(client.established().is_none());
}

#[test]
fn the_hint_names_the_mechanisms() {
    let hint = Acceptor::new(vec![tickets_acceptor(), server()]).hint().unwrap();
    let read = NegTokenInit::parse(&hint).unwrap();
    let names: Vec<_> = read.mech_types.iter().collect();
    assert_eq!(names[..2], [KERBEROS_OID_MICROSOFT, KERBEROS_OID]);
    assert_eq!((names.len(), read.mech_token), (3, None));
}

#[test]
fn tokens_that_are_not_der_are_refused_with_their_place() {
    let init = "604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa22a0428";
    let whole = hex(&format!(
        "{init}4e544c4d5353500001000000978208e200000000000000000000000000000000060380250000000f"
    ));
    assert!(NegTokenInit::parse(&whole).is_ok());
    let refused = |bytes: &[u8]| NegTokenInit::parse(bytes).unwrap_err();
    for len in 0..whole.len() {
        assert!(matches!(refused(&whole[..len]), AuthError::Der { .. }));
    }
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(refused(&longer), AuthError::Der { at: whole.len(), expected: "end" });
    // A length in more bytes than it needs, and an indefinite one.
    for prefix in
        [&[0x60, 0x81, 0x48][..], &[0x60, 0x82, 0x00, 0x48], &[0x60, 0x83, 0, 0, 0x48], &[0x60, 0x80]]
    {
        let other = [prefix, &whole[2..]].concat();
        assert_eq!(refused(&other), AuthError::Der { at: 0, expected: "InitialContextToken" });
    }
    assert_eq!(refused(&vec![0x60; 65_536]), AuthError::TooLong { len: 65_536 });
    // Not SPNEGO, but Kerberos.
    let mut other = whole.clone();
    other[9] = 3;
    assert_eq!(refused(&other), AuthError::Der { at: 4, expected: "SPNEGO" });
}

#[test]
fn a_list_of_mechanisms_has_one_to_sixteen() {
    let list = |count: usize| {
        let names: Vec<u8> = [6, 1, 0x2a].repeat(count);
        [&[0x30, names.len() as u8][..], &names].concat()
    };
    for count in 0..20 {
        assert_eq!(MechTypes::parse(&list(count)).is_ok(), (1..=16).contains(&count), "{count}");
    }
    assert!(MechTypes::parse(&[0x30, 2, 6, 0]).is_err());
}
