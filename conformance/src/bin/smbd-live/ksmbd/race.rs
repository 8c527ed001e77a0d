//! A race in ksmbd of 6.12, seen once in some 1500 connections over rxe on a busy host.
//!
//! A request may arrive before ksmbd hears that the connection is established (on RoCE the message that says so can be
//! overtaken). Then its receive handler first notes that a request is there and then puts it into a queue. The thread that
//! waits for the note is also woken by the news of the connection: between the two it finds the note and no request, and
//! ends the connection without a word. So does a thread that only begins to wait at that moment. Its log tells: a receive,
//! then "Disconnecting", and no value of the request was ever printed.
//!
//! ksmbd of 7.3 looks at a request when both are there, the request and the news.

use smbd_core::error::ConnectError;
use smbd_verbs::blocking::{Connection, Failure as CallFailure};

use crate::case::Failure;
use crate::kernel_log::Log;
use crate::linux::Linux;

/// Connects; a second time if the first was lost to the race, where there is one.
pub(super) fn again_if_lost(
    connect: impl Fn() -> Result<Connection, CallFailure>,
) -> Result<Connection, Failure> {
    let ksmbd = Linux::running()?.ksmbd();
    let log = Log::from_here()?;
    match connect() {
        Err(CallFailure::Connect(lost @ (ConnectError::PeerClosed | ConnectError::Lost { .. }))) => {
            let lines = log.lines("smb_direct:")?;
            if !(ksmbd.may_lose_a_request && was_raced(&lines)) {
                return Err(format!("{lost}, and ksmbd said:\n{}", lines.join("\n")).into());
            }
            println!("(ksmbd lost a request to its own race, once more)");
            Ok(connect()?)
        }
        other => Ok(other?),
    }
}

/// Whether these lines of ksmbd are those of a connection that it gave up between note and queue. The end of an earlier
/// connection may be among them: ksmbd hears of it late. The line about the connection request is written when ksmbd has
/// accepted the connection, so a receive may come before it.
fn was_raced(lines: &[String]) -> bool {
    const REQUEST: &str = "Received connection request. ";
    let Some((begins, id)) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| line.split_once(REQUEST).map(|(_, id)| (at, id)))
    else {
        return false;
    };
    let place = |part: &str| lines.iter().position(|line| line.contains(part));
    // The kernel gives the same cm_id to connections one after the other.
    let behind = |part: &str| {
        let is_it = |(at, line): (usize, &String)| at > begins && line.contains(id) && line.contains(part);
        lines.iter().enumerate().position(is_it)
    };
    let given_up = behind("Disconnecting");
    let came = place("Recv completed. status='success (0)'");
    let by_itself = behind("event=disconnected").is_none_or(|at| given_up < Some(at));
    place("MinVersion:").is_none() && came.is_some() && given_up > came && by_itself
}

#[cfg(test)]
mod tests {
    use super::was_raced;

    const REQUEST: &str = "ksmbd: smb_direct: Received connection request. cm_id=00000000c3fc63b5";
    const WAITING: &str = "ksmbd: smb_direct: Waiting for SMB_DIRECT negotiate request";
    const CAME: &str = "ksmbd: smb_direct: Recv completed. status='success (0)', opcode=128";
    const READ: &str = "ksmbd: smb_direct: MinVersion: 256, MaxVersion: 256, CreditRequested: 255";
    const TOLD: &str = "ksmbd: smb_direct: RDMA CM event. cm_id=00000000c3fc63b5 event=established (9)";
    const GIVEN_UP: &str = "ksmbd: smb_direct: Disconnecting cm_id=00000000c3fc63b5";
    const OVER: &str = "ksmbd: smb_direct: RDMA CM event. cm_id=00000000c3fc63b5 event=disconnected (10)";
    const DRAINED: &str = "ksmbd: smb_direct: drain the reassembly queue";
    /// The end of the connection before it.
    const EARLIER: [&str; 2] = [
        "ksmbd: smb_direct: RDMA CM event. cm_id=00000000617f05a9 event=disconnected (10)",
        "ksmbd: smb_direct: Disconnecting cm_id=00000000617f05a9",
    ];

    fn judged(lines: &[&str]) -> bool {
        was_raced(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_connection_given_up_unread_was_raced_and_no_other() {
        assert!(judged(&[REQUEST, WAITING, CAME, TOLD, GIVEN_UP, OVER, DRAINED]));
        assert!(judged(&[REQUEST, CAME, WAITING, GIVEN_UP, TOLD, OVER, DRAINED]), "not asleep yet");
        assert!(
            judged(&[CAME, REQUEST, TOLD, WAITING, GIVEN_UP, OVER, DRAINED]),
            "accepted before it is told"
        );
        assert!(!judged(&[CAME, READ, REQUEST, WAITING, TOLD, GIVEN_UP, OVER]), "it was read and not liked");
        assert!(!judged(&[REQUEST, WAITING, CAME, READ, TOLD, GIVEN_UP, OVER]), "it was read and not liked");
        assert!(!judged(&[REQUEST, WAITING, CAME, TOLD, OVER, GIVEN_UP, DRAINED]), "this side ended it");
        assert!(!judged(&[REQUEST, WAITING, TOLD, GIVEN_UP, OVER]), "nothing came");
        assert!(!judged(&[REQUEST, WAITING, CAME, TOLD]), "it was not given up");
        assert!(!judged(&EARLIER), "there was none");
    }

    #[test]
    fn the_end_of_an_earlier_connection_is_not_this_ones() {
        let [over, given_up] = EARLIER;
        assert!(judged(&[over, given_up, REQUEST, WAITING, CAME, TOLD, GIVEN_UP, OVER]));
        assert!(judged(&[REQUEST, over, given_up, WAITING, CAME, TOLD, GIVEN_UP, OVER]));
        assert!(judged(&[given_up, REQUEST, WAITING, CAME, TOLD, over, GIVEN_UP, OVER]));
        assert!(judged(&[over, given_up, CAME, REQUEST, TOLD, WAITING, GIVEN_UP, OVER]));
        assert!(!judged(&[REQUEST, WAITING, CAME, over, given_up, TOLD]), "this one goes on");
        assert!(
            !judged(&[OVER, GIVEN_UP, CAME, REQUEST, WAITING, TOLD]),
            "the one before had the same number"
        );
    }
}
