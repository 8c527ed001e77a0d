//! An authentication with pyspnego on the other side. Its tokens are in `vectors.txt`; `vectors.py` has ours.

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, Identity, Initiator, NtHash, NtlmAcceptor, Step, capital,
};

use crate::tools::{fresh, ntlm_client, user};
use crate::vectors::vectors;

const PASSWORD: &str = "pässword 1";

#[track_caller]
fn assert_token(own: &[u8], kept: &[u8]) {
    let digits: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(own == kept, "vectors.py has another token; it is now\n{digits}");
}

fn is_user(identity: &Identity) -> bool {
    *identity == Identity::User { user: "Jörg".into(), domain: "WORK".into() }
}

#[test]
fn pyspnego_logs_in() {
    let [vector] = &vectors("client")[..] else { panic!("one line") };
    let accounts = |user: &str, domain: &str| {
        (capital(user) == "JÖRG" && domain == "WORK").then(|| NtHash::of_password(PASSWORD))
    };
    let mut server =
        Acceptor::new(vec![Box::new(NtlmAcceptor::new(AcceptorConfig::new("SERVER"), accounts))]);
    let Ok(Step::Continue(answer)) = server.step(vector.get("first"), &fresh(1)) else { panic!() };
    assert_token(&answer, vector.get("answer"));
    // It has sent a mechListMIC, so it gets one.
    let done = server.step(vector.get("last"), &fresh(2)).unwrap();
    assert!(matches!(done, Step::Done(Some(_))));
    let established = server.established().unwrap();
    assert!(is_user(&established.identity));
    assert_eq!(established.session_key.unwrap().expose(), vector.get("key"));
}

#[test]
fn pyspnego_lets_us_in_and_its_mic_is_right() {
    let [vector] = &vectors("server")[..] else { panic!("one line") };
    let mut client = Initiator::new(vec![ntlm_client(user("Jörg", "WORK", PASSWORD))]);
    let Ok(Step::Continue(first)) = client.step(&[], &fresh(3)) else { panic!() };
    assert_token(&first, vector.get("first"));
    let Ok(Step::Continue(last)) = client.step(vector.get("answer"), &fresh(4)) else { panic!() };
    assert_token(&last, vector.get("last"));
    assert_eq!(client.step(vector.get("end"), &fresh(5)), Ok(Step::Done(None)));
    let established = client.established().unwrap();
    assert!(is_user(&established.identity));
    assert_eq!(established.session_key.unwrap().expose(), vector.get("key"));
}
