//! What ksmbd says in its Negotiate Response, and what comes after it.

use std::time::Duration;

use smbd_core::Params;
use smbd_core::error::CloseReason;
use smbd_smb2::wire::NtStatus;
use smbd_verbs::blocking::Failure as CallFailure;

use super::{connect_here, response_of, smb2_and_close, smb2_negotiate};
use crate::case::{Case, Context, Outcome, Target};
use crate::expect::{holds, same};
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::{settings, smb2};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::negotiate::defaults",
        target: Target::Ksmbd,
        about: "the response to a client with the parameters of Windows",
        run: defaults,
    },
    Case {
        name: "ksmbd::negotiate::short_sends",
        target: Target::Ksmbd,
        about: "the response to a client that sends 1100 bytes at most",
        run: short_sends,
    },
    Case {
        name: "ksmbd::negotiate::long_sends",
        target: Target::Ksmbd,
        about: "the response to a client that would send 2048 bytes",
        run: long_sends,
    },
    Case {
        name: "ksmbd::negotiate::as_linux_client",
        target: Target::Ksmbd,
        about: "the response to a client with the parameters of cifs",
        run: as_linux_client,
    },
    Case {
        name: "ksmbd::negotiate::smb2_only_once",
        target: Target::Ksmbd,
        about: "a second SMB2 NEGOTIATE gets no answer, the message after it ends the connection",
        run: smb2_only_once,
    },
];

fn defaults(context: &Context) -> Outcome {
    sizes(context, settings::windows(), &Expected { receive: 1364, send: 1364 })
}

fn short_sends(context: &Context) -> Outcome {
    let params = Params { max_send_size: 1100, ..settings::windows() };
    sizes(context, params, &Expected { receive: 1100, send: 1364 })
}

fn long_sends(context: &Context) -> Outcome {
    let params = Params { max_send_size: 2048, ..settings::windows() };
    sizes(context, params, &Expected { receive: 1364, send: 1364 })
}

fn as_linux_client(context: &Context) -> Outcome {
    sizes(context, Params::linux_client(), &Expected { receive: 1364, send: 1364 })
}

/// Sizes of ksmbd.
struct Expected {
    /// MaxReceiveSize: 1364, or what the client would like to send if that is less (3.1.5.6).
    receive: u32,
    /// PreferredSendSize: 1364, or what the client takes.
    send: u32,
}

fn sizes(context: &Context, params: Params, expected: &Expected) -> Outcome {
    let ksmbd = Linux::running()?.ksmbd();
    let (max_send_size, asked) = (params.max_send_size, params.send_credit_target);
    let mut connection = connect_here(context, params)?;
    let response = response_of(&connection)?;
    same("Status", response.status.0, 0)?;
    same("NegotiatedVersion", response.negotiated_version, 0x0100)?;
    same("CreditsRequested", response.credits_requested, 255)?;
    same("CreditsGranted", response.credits_granted, ksmbd.grants(asked))?;
    same("PreferredSendSize", response.preferred_send_size, expected.send)?;
    same("MaxReceiveSize", response.max_receive_size, expected.receive)?;
    // What half of its 255 receives hold, headers counted as if they were data.
    same("MaxFragmentedSize", response.max_fragmented_size, expected.receive * 255 / 2)?;
    same("MaxReadWriteSize", response.max_read_write_size, 8_388_608)?;

    let settled = connection.negotiated().ok_or("nothing was settled on")?;
    same("own MaxSendSize", settled.max_send_size, max_send_size.min(expected.receive))?;
    same("own MaxReceiveSize", settled.max_receive_size, expected.send)?;
    same("own MaxFragmentedSendSize", settled.max_fragmented_send_size, response.max_fragmented_size)?;

    let agreed = smb2_negotiate(&mut connection)?;
    let stats = *connection.endpoint().connection().stats();
    same("tolerances", stats.tolerances, smbd_core::Tolerances::default())?;
    connection.close(PATIENCE)?;
    Ok(format!(
        "granted {}, MaxReceiveSize {}, MaxFragmentedSize {}, MaxReadWriteSize {}; SMB {}",
        response.credits_granted,
        response.max_receive_size,
        response.max_fragmented_size,
        response.max_read_write_size,
        agreed
    ))
}

/// MS-SMB2 3.3.5.4 wants the connection of a second NEGOTIATE ended without an answer. ksmbd gives none, but ends the
/// connection only when one more message comes: until then its thread sits in a read. SMB Direct below goes on as if nothing
/// were, answers to keepalives included.
fn smb2_only_once(context: &Context) -> Outcome {
    let mut connection = connect_here(context, settings::windows())?;
    smb2_negotiate(&mut connection)?;
    connection.send(smb2::negotiate(1).into())?;
    match connection.recv(Duration::from_secs(1)) {
        Err(CallFailure::TimedOut) => {}
        other => return Err(format!("the second NEGOTIATE came to {other:?}, silence was expected").into()),
    }
    connection.probe(PATIENCE)?;
    connection.send(smb2::negotiate(2).into())?;
    // The last answer can be lost in the end.
    let seen = match connection.recv(PATIENCE) {
        Ok(answer) => {
            same("third answer", smb2::agreed(&answer)?, Err(NtStatus::INVALID_PARAMETER))?;
            connection.drain()?
        }
        Err(CallFailure::Closed(reason)) => reason,
        Err(other) => return Err(format!("after the third NEGOTIATE: {other}").into()),
    };
    holds(is_end_of_peer(&seen), || format!("the connection ended with: {seen}"))?;
    // Only that connection.
    smb2_and_close(connect_here(context, settings::windows())?)?;
    Ok(format!("silence, a probe answered; after a third message: {seen}; the next connection is served"))
}

/// Whether the peer ended the connection. On iWARP the first thing heard of it can be that a send failed.
fn is_end_of_peer(reason: &CloseReason) -> bool {
    matches!(reason, CloseReason::PeerClosed | CloseReason::Lost { .. } | CloseReason::Transport { .. })
}
