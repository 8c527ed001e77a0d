//! Connections that are taken over from another process of the server, behind NEGOTIATE.

use smbd_smb2::server::{Action, Params, Reason};
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{Cipher, Command, Dialect, EchoRequest, Guid, NtStatus, write_element};

use crate::bound::{USUAL, several};
use crate::rig::{Protect, RDMA, Rig, TCP};

/// Another connection of the client of `first`, which has negotiated with another process of this server, and what that has said.
fn elsewhere(first: &Rig, params: Params, ciphers: &[Cipher]) -> (Rig, Vec<u8>) {
    let mut other = Rig::seeded(params, RDMA, 0x12);
    other.knows_channels = first.knows_channels;
    other.signings.clone_from(&first.signings);
    other.offer.clone_from(&first.offer);
    let answer = other.negotiate(&[first.dialect], ciphers);
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    (other, answer.bytes)
}

#[test]
fn a_session_is_bound_to_a_connection_whose_negotiate_another_process_has_answered() {
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
            let mut first = Rig::new(several(), TCP);
            first.negotiate(&[dialect], &[USUAL.1]);
            first.log_in("tester", "correct horse");
            first.connect("data");
            let (other, answer) = elsewhere(&first, several(), &[USUAL.1]);
            let mut second = other.moved_to(&first, RDMA, &answer);
            // It was answered.
            assert!(second.connection.poll().is_none());
            assert_eq!(second.bind(&mut first), NtStatus::SUCCESS, "{dialect}");
            second.protect = protect;
            second.file("a");
            assert_eq!(first.files.open_count(), 1);
        }
    }
}

#[test]
fn a_user_logs_in_on_a_connection_whose_negotiate_another_process_has_answered() {
    let first = Rig::ready(several(), TCP);
    let (other, answer) = elsewhere(&first, several(), &[USUAL.1]);
    let mut second = other.moved_to(&first, RDMA, &answer);
    second.log_in("tester", "correct horse");
    second.connect("data");
    second.protect = Protect::Sign;
    second.file("a");
}

/// What ends a connection that is taken over with this answer.
fn refused(first: &Rig, other: Rig, answer: &[u8]) -> Option<Reason> {
    match other.moved_to(first, RDMA, answer).connection.poll() {
        Some(Action::Close(reason)) => Some(reason),
        _ => None,
    }
}

/// What the client was told is what it goes by.
#[test]
fn a_connection_to_which_another_answer_was_given_than_here_ends() {
    let mut first = Rig::ready(several(), TCP);
    first.knows_channels = true;
    for params in [
        Params { signing_required: true, ..several() },
        Params { guid: Guid([0x52; 16]), ..several() },
        Params { max_read_size: 65536, ..several() },
        Params { channels_max: 1, ..several() },
    ] {
        let (other, answer) = elsewhere(&first, params, &[USUAL.1]);
        assert_eq!(refused(&first, other, &answer), Some(Reason::OtherAnswer));
    }
    // More credits than there are, none, and an error.
    for change in [
        |answer: &mut [u8]| field::CREDITS.set(answer, u16::MAX),
        |answer: &mut [u8]| field::CREDITS.set(answer, 0),
        |answer: &mut [u8]| field::STATUS.set(answer, NtStatus::NOT_SUPPORTED),
    ] {
        let (other, mut answer) = elsewhere(&first, several(), &[USUAL.1]);
        change(&mut answer).unwrap();
        assert_eq!(refused(&first, other, &answer), Some(Reason::OtherAnswer));
    }
    // Another cipher than is chosen here.
    let (other, _) = elsewhere(&first, several(), &[USUAL.1]);
    let (_, answer) = elsewhere(&first, several(), &[Cipher::AES_256_CCM]);
    assert_eq!(refused(&first, other, &answer), Some(Reason::OtherAnswer));
}

#[test]
fn what_is_no_answer_to_negotiate_and_what_is_no_negotiate_end_the_connection() {
    let first = Rig::ready(several(), TCP);
    let (_, answer) = elsewhere(&first, several(), &[USUAL.1]);
    for len in 0..answer.len() {
        let (other, _) = elsewhere(&first, several(), &[USUAL.1]);
        assert!(refused(&first, other, &answer[..len]).is_some(), "{len}");
    }
    let (mut other, _) = elsewhere(&first, several(), &[USUAL.1]);
    other.offered.truncate(70);
    assert!(refused(&first, other, &answer).is_some());
    // Once is enough.
    let (other, _) = elsewhere(&first, several(), &[USUAL.1]);
    first.connection.past_request(first.now, &other.offered);
    let reason = first.connection.poll();
    assert!(matches!(reason, Some(Action::Close(Reason::OutOfOrder(Command::NEGOTIATE)))), "{reason:?}");
    // An answer without a request, another request than NEGOTIATE, and one that is too long.
    let echo = other_than_negotiate(&other.offered);
    for (message, is_response) in [(&answer, true), (&echo, false), (&vec![0; 70_000], false)] {
        let first = Rig::new(several(), TCP);
        match is_response {
            true => first.connection.past_response(first.now, message),
            false => first.connection.past_request(first.now, message),
        }
        assert!(matches!(first.connection.poll(), Some(Action::Close(_))));
    }
}

fn other_than_negotiate(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    field::COMMAND.set(&mut message, Command::ECHO).unwrap();
    message
}

/// Clients ask for credits before they log in.
#[test]
fn what_else_was_asked_and_answered_counts_for_message_ids_and_credits() {
    let first = Rig::ready(several(), TCP);
    let (mut other, answer) = elsewhere(&first, several(), &[USUAL.1]);
    let header = other.header::<EchoRequest>(0);
    let mut echo = Vec::new();
    write_element(&mut echo, &header, &EchoRequest::default()).unwrap();
    let answer_to_echo = other.ask(&header, &EchoRequest::default()).bytes;
    let mut second = other.moved_to(&first, RDMA, &answer);
    second.connection.past_request(second.now, &echo);
    second.connection.past_response(second.now, &answer_to_echo);
    second.log_in("tester", "correct horse");
    // The same request once more has no MessageId that it may have.
    second.connection.past_request(second.now, &echo);
    let reason = second.connection.poll();
    assert!(matches!(reason, Some(Action::Close(Reason::Sequence { .. }))), "{reason:?}");
    // Nor can more be granted than there may be.
    let (other, answer) = elsewhere(&first, several(), &[USUAL.1]);
    let second = other.moved_to(&first, RDMA, &answer);
    let mut many = answer_to_echo;
    field::CREDITS.set(&mut many, u16::MAX).unwrap();
    second.connection.past_response(second.now, &many);
    assert!(matches!(second.connection.poll(), Some(Action::Close(Reason::OtherAnswer))));
}
