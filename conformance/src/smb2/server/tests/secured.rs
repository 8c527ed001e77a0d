//! A user is let in by a password, and messages are signed and encrypted as the server wants.

use smbd_smb2::wire::{Cipher, Dialect, Flags, Header, Message, NtStatus, RdmaTransformId, SigningAlgorithm};

use super::super::{BadMessage, Options, Secured, Served, Server};
use crate::smb2::client::{self, Client, Protection, Requests, User, Wants};

fn user(password: &str) -> User {
    User { name: "tester".into(), password: password.into() }
}

fn server(protection: Protection, cipher: Cipher) -> Server {
    let (user, signing) = (user("correct horse"), SigningAlgorithm::AES_GMAC);
    let transforms = vec![RdmaTransformId::ENCRYPTION];
    let secured = Some(Secured { user, protection, cipher, signing, transforms });
    Server::new(Options { secured, ..Options::default() })
}

fn client(password: &str) -> Client {
    let secured = client::Secured {
        user: user(password),
        ciphers: vec![Cipher::AES_128_GCM, Cipher::AES_256_CCM],
        signing: vec![SigningAlgorithm::AES_GMAC],
        protection: Protection::AsAsked,
    };
    let transforms = vec![RdmaTransformId::SIGNING, RdmaTransformId::ENCRYPTION];
    let (share, dialects) = (Some(r"\\server\share".into()), vec![Dialect::SMB_3_1_1]);
    Client::new(Wants { share, dialects, transforms, secured: Some(secured), ..Wants::default() })
}

/// The one answer to a message of the client.
fn answer(server: &mut Server, message: &[u8]) -> Vec<u8> {
    let mut all = server.take(message).unwrap();
    let (Some(Served::Answer(answer)), true) = (all.pop(), all.is_empty()) else { panic!("one answer") };
    answer
}

/// Until the client has its file, or is refused.
fn talk(client: &mut Client, server: &mut Server) {
    while let Some(message) = client.next_request().unwrap() {
        let message = client.protect(message).unwrap();
        let answer = answer(server, &message);
        let answer = client.open(answer).unwrap();
        client.take(&answer).unwrap();
    }
}

fn is_sealed(message: &[u8]) -> bool {
    matches!(Message::parse(message), Ok(Message::Transform(_)))
}

fn echo(client: &mut Client) -> Vec<u8> {
    let mut requests = Requests::new(client);
    requests.echo().unwrap();
    let message = requests.finish().0;
    client.protect(message).unwrap()
}

#[test]
fn a_user_gets_a_file_in_a_session_that_is_protected_as_the_server_wants() {
    let ways = [(Protection::AsAsked, Cipher::AES_128_GCM), (Protection::Signed, Cipher::AES_128_GCM)];
    for (protection, cipher) in ways.into_iter().chain([(Protection::Encrypted, Cipher::AES_256_CCM)]) {
        let (mut client, mut server) = (client("correct horse"), server(protection, cipher));
        talk(&mut client, &mut server);
        assert!(client.file().is_some(), "{:?}", client.refused());
        assert_eq!(client.protection(), Some(protection));
        assert_eq!(client.negotiated().transforms, [RdmaTransformId::ENCRYPTION]);
        assert_eq!(server.lacks(), None);
        let asked = echo(&mut client);
        let answer = answer(&mut server, &asked);
        let encrypts = protection == Protection::Encrypted;
        assert_eq!((is_sealed(&asked), is_sealed(&answer)), (encrypts, encrypts));
        let header = Header::parse(&client.open(answer).unwrap()).unwrap();
        let is_signed = header.flags.contains(Flags::SIGNED);
        assert_eq!(is_signed, protection == Protection::Signed);
    }
}

#[test]
fn another_password_is_refused() {
    let (mut client, mut server) = (client("wrong"), server(Protection::Signed, Cipher::AES_128_GCM));
    talk(&mut client, &mut server);
    assert_eq!(client.refused().map(|refused| refused.status), Some(NtStatus::LOGON_FAILURE));
    assert!(server.keys().is_none());
}

#[test]
fn what_a_client_does_not_offer_is_said() {
    let (mut client, mut server) =
        (client("correct horse"), server(Protection::Encrypted, Cipher::AES_128_CCM));
    let message = client.next_request().unwrap().unwrap();
    answer(&mut server, &message);
    assert_eq!(server.lacks(), Some("AES-128-CCM"));
}

#[test]
fn a_message_that_others_have_signed_or_encrypted_ends_the_connection() {
    for protection in [Protection::Signed, Protection::Encrypted] {
        let (mut client, mut server) = (client("correct horse"), server(protection, Cipher::AES_128_GCM));
        talk(&mut client, &mut server);
        let mut message = echo(&mut client);
        *message.last_mut().unwrap() ^= 1;
        let Err(BadMessage::Security(_)) = server.take(&message) else { panic!("{protection:?}") };
    }
}
