//! Idle connections: what cifs says by itself, and what it does when it is asked.

use std::time::Duration;

use smbd_core::backend::Backend;
use smbd_core::error::CloseReason;
use smbd_core::{Keepalive, Params};

use super::kernel::{Mount, Parameter};
use super::server::{Session, listen};
use crate::case::{Case, Context, Outcome, Target};
use crate::expect::{holds, same};
use crate::kernel_log::Log;
use crate::linux::Linux;
use crate::patience::{PATIENCE, until};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cifs::keepalive::idle_messages",
        target: Target::Cifs,
        about: "with a keepalive interval of 3 s cifs sends empty messages, which count as life; those of 7.3 are probes",
        run: idle_messages,
    },
    Case {
        name: "cifs::keepalive::asked",
        target: Target::Cifs,
        about: "cifs of 6.12 does not answer a probe, and ends the connection for it; that of 7.3 answers each",
        run: asked,
    },
    Case {
        name: "cifs::keepalive::profile",
        target: Target::Cifs,
        about: "a server with the parameters of ksmbd asks nothing and keeps an idle mount",
        run: profile,
    },
];

/// The interval cifs is set to, in seconds.
const INTERVAL: u32 = 3;

fn keepalive(interval: u64) -> Option<Keepalive> {
    Some(Keepalive { interval: Duration::from_secs(interval), answer_timeout: PATIENCE })
}

/// Deviation of 6.12 from 3.1.6.2: the idle timer of its cifs is started again by what it *sends*, and what it then sends asks for no
/// answer. For a server it is a keepalive response all the same (3.1.5.5), so that a server with a longer interval never asks. That of 7.3
/// is started again by what it receives, and it probes.
fn idle_messages(context: &Context) -> Outcome {
    let _interval = Parameter::set("smbd_keep_alive_interval", INTERVAL)?;
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let params = Params { keepalive: keepalive(30), strict: true, ..Params::linux_server() };
    let mut session = Session::accept(&mut listener, params)?;
    let before = *session.connection.endpoint().connection().stats();
    let start = session.connection.backend().now();
    until(&mut session.connection, "two messages of cifs", |connection| {
        connection.endpoint().connection().stats().received.messages >= before.received.messages + 2
    })?;
    let time = session.connection.backend().now().saturating_since(start).as_secs_f32();
    let after = *session.connection.endpoint().connection().stats();
    let came = after.received.messages - before.received.messages;
    same("messages with data", after.received.bytes - before.received.bytes, 0)?;
    let probes = if Linux::running()?.cifs().probes { came } else { 0 };
    same("probes of cifs", after.received.keepalives - before.received.keepalives, probes)?;
    same("own probes", after.sent.keepalives, 0)?;
    let end = session.refuse()?;
    mount.failure(PATIENCE)?;
    Ok(format!(
        "{came} empty messages in {time:.1} s, {probes} of them ask for an answer, none was asked for; {end}"
    ))
}

/// A server asks before cifs does.
fn asked(context: &Context) -> Outcome {
    if Linux::running()?.cifs().answers_probes { answered(context) } else { overdue(context) }
}

/// 3.1.5.8: each probe is answered, and no answer asks. So neither side has reason to end the connection.
fn answered(context: &Context) -> Outcome {
    let _interval = Parameter::set("smbd_keep_alive_interval", INTERVAL)?;
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let params = Params { keepalive: keepalive(2), strict: true, ..Params::linux_server() };
    let mut session = Session::accept(&mut listener, params)?;
    let before = *session.connection.endpoint().connection().stats();
    // The third is not asked before the second is answered.
    until(&mut session.connection, "three probes", |connection| {
        connection.endpoint().connection().stats().sent.keepalives >= before.sent.keepalives + 3
    })?;
    let after = *session.connection.endpoint().connection().stats();
    let came = after.received.messages - before.received.messages;
    holds(came >= 2, || format!("{came} messages came to three probes"))?;
    same("probes of cifs", after.received.keepalives - before.received.keepalives, 0)?;
    let end = session.refuse()?;
    mount.failure(PATIENCE)?;
    Ok(format!("3 probes, {came} answers, none of which asks; {end}"))
}

/// Deviation of 6.12 from 3.1.5.8: asked with SMB_DIRECT_RESPONSE_REQUESTED, cifs only notes that it owes an answer. It goes with
/// the next message that leaves for another reason, and carries the same flag. If its own idle timer expires first, cifs
/// takes what it owes for what it is owed, and ends the connection. So a server must not ask it before it has spoken by
/// itself: with the default of 120 s on both sides the SMB2 ECHO that cifs sends every 60 s keeps the two apart.
fn overdue(context: &Context) -> Outcome {
    let _interval = Parameter::set("smbd_keep_alive_interval", INTERVAL)?;
    let log = Log::from_here()?;
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let params = Params { keepalive: keepalive(2), strict: true, ..Params::linux_server() };
    let mut session = Session::accept(&mut listener, params)?;
    let before = *session.connection.endpoint().connection().stats();
    let idle = until(&mut session.connection, "an answer of cifs, or the end", |connection| {
        let now = connection.endpoint().connection().stats();
        now.sent.keepalives > before.sent.keepalives && now.received.credits > before.received.credits
    });
    let after = *session.connection.endpoint().connection().stats();
    let asked = after.sent.keepalives - before.sent.keepalives;
    let came = after.received.messages - before.received.messages;
    let end = match (idle, session.connection.ended()) {
        (_, Some(reason)) => reason,
        // Now and then it has credits left to grant when it is asked, and the message that does is an answer.
        (Ok(()), None) => {
            return Ok(format!("{asked} probes, answered by messages that granted credits"));
        }
        (Err(other), None) => return Err(other),
    };
    // Not for this side's answer timeout, which would have come long after.
    holds(
        matches!(end, CloseReason::PeerClosed | CloseReason::Lost { .. } | CloseReason::Transport { .. }),
        || format!("it ended with: {end}"),
    )?;
    holds(asked >= 1, || "it ended before it was asked".into())?;
    let why = log.lines("error status info->keep_alive_requested=1")?;
    same("complaints in the kernel's log", why.len(), 1)?;
    // It would come again at once.
    drop(listener);
    drop(session);
    drop(mount);
    Ok(format!(
        "{asked} probes, {came} messages besides, and 3 s after its last message cifs ends it: {}",
        why.join("")
    ))
}

/// The parameters of ksmbd are for servers of Linux clients, and have no keepalive.
fn profile(context: &Context) -> Outcome {
    let _interval = Parameter::set("smbd_keep_alive_interval", INTERVAL)?;
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let mut session = Session::accept(&mut listener, Params::linux_server())?;
    session.connection.idle(Duration::from_secs(5))?;
    let sent = session.connection.endpoint().connection().stats().sent;
    same("probes", sent.keepalives, 0)?;
    let end = session.refuse()?;
    holds(end != CloseReason::KeepaliveTimeout, || end.to_string())?;
    mount.failure(PATIENCE)?;
    Ok(format!("alive after 5 s without a probe; {end}"))
}
