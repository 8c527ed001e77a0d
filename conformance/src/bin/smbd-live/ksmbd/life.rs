//! Keepalive, ends, and many connections.

use std::time::Duration;

use smbd_core::backend::Backend;
use smbd_core::error::CloseReason;
use smbd_core::{Instant, Keepalive, Params};
use smbd_verbs::Clock;

use super::{connect_here, smb2_and_close, smb2_negotiate};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};
use crate::linux::Linux;
use crate::ours::resources::Leaks;
use crate::patience::{PATIENCE, until};
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::life::keepalive",
        target: Target::Ksmbd,
        about: "idle for several keepalive intervals: ksmbd answers each probe at once",
        run: keepalive,
    },
    Case {
        name: "ksmbd::life::silence",
        target: Target::Ksmbd,
        about: "without probes ksmbd says nothing and keeps the connection",
        run: silence,
    },
    Case {
        name: "ksmbd::life::answers_use_up_credits",
        target: Target::Ksmbd,
        about: "600 probes: ksmbd grants again at once, or when 31 of 255 are left (6.12)",
        run: answers_use_up_credits,
    },
    Case {
        name: "ksmbd::life::one_after_the_other",
        target: Target::Ksmbd,
        about: "200 connections; nothing of them is left here",
        run: one_after_the_other,
    },
    Case {
        name: "ksmbd::life::dropped",
        target: Target::Ksmbd,
        about: "connections that are dropped without a word; nothing of them is left here",
        run: dropped,
    },
    Case {
        name: "ksmbd::life::at_the_same_time",
        target: Target::Ksmbd,
        about: "12 connections at once",
        run: at_the_same_time,
    },
];

/// When something is asked on an idle connection.
const INTERVAL: Duration = Duration::from_millis(800);
/// How many probes are waited for.
const QUESTIONS: u64 = 4;

fn short_keepalive() -> Params {
    let keepalive = Keepalive { interval: INTERVAL, answer_timeout: PATIENCE };
    Params { keepalive: Some(keepalive), strict: true, ..settings::windows() }
}

/// 3.1.5.8: SMB_DIRECT_RESPONSE_REQUESTED is answered immediately. ksmbd does, with an empty message that asks nothing.
fn keepalive(context: &Context) -> Outcome {
    let mut connection = connect_here(context, short_keepalive())?;
    smb2_negotiate(&mut connection)?;
    let before = *connection.endpoint().connection().stats();
    let start = connection.backend().now();
    until(&mut connection, "probes of this side and answers", |connection| {
        let now = connection.endpoint().connection().stats();
        let asked = now.sent.keepalives - before.sent.keepalives;
        asked >= QUESTIONS && now.received.messages - before.received.messages >= asked
    })?;
    let time = connection.backend().now().saturating_since(start);
    let after = *connection.endpoint().connection().stats();
    let asked = after.sent.keepalives - before.sent.keepalives;
    let answers = after.received.messages - before.received.messages;
    // The first may have been due when the time began.
    let rests = u32::try_from(asked)? - 1;
    holds(time >= INTERVAL * rests, || format!("{asked} probes within {time:?}"))?;
    // A grant of the negotiation may still have been on its way.
    let granted = after.received.credits > before.received.credits;
    holds(answers == asked || granted, || format!("{asked} probes, {answers} messages"))?;
    same("probes of ksmbd", after.received.keepalives, 0)?;
    let took = connection.probe(PATIENCE)?;
    same("end", connection.close(PATIENCE)?, CloseReason::Local)?;
    Ok(format!("{asked} probes, {answers} answers, all empty; a probe took {} us", took.as_micros()))
}

/// ksmbd of 6.12 has no idle timer: 3.1.6.2 of its side never happens. A client that vanishes without the transport's
/// notice is kept until ksmbd has something to send. By its source, ksmbd of 7.3 has one of 120 s.
fn silence(context: &Context) -> Outcome {
    let params = Params { keepalive: None, strict: true, ..settings::windows() };
    let mut connection = connect_here(context, params)?;
    smb2_negotiate(&mut connection)?;
    let before = connection.endpoint().connection().stats().received;
    connection.idle(Duration::from_secs(2))?;
    let after = connection.endpoint().connection().stats().received;
    // A grant of the negotiation may still be on its way; a keepalive response would grant nothing.
    holds(after.messages == before.messages || after.credits > before.credits, || {
        format!("{} messages in 2 s that grant nothing", after.messages - before.messages)
    })?;
    same("bytes in 2 s", after.bytes - before.bytes, 0)?;
    same("probes of ksmbd", after.keepalives, 0)?;
    connection.probe(PATIENCE)?;
    connection.close(PATIENCE)?;
    Ok("no keepalive response in 2 s, a probe afterwards is answered".into())
}

/// 3.1.5.9 leaves open when ksmbd posts receives again and grants them. That of 6.12 does when an eighth of its 255 is left,
/// in one lump: a client must live with being let down to 31. That of 7.3 does with every answer.
fn answers_use_up_credits(context: &Context) -> Outcome {
    let ksmbd = Linux::running()?.ksmbd();
    let mut connection = connect_here(context, Params { strict: true, ..settings::windows() })?;
    smb2_negotiate(&mut connection)?;
    // The grant can come with an answer or by itself, just after it.
    let (mut least, mut lumps) = (u32::MAX, Vec::new());
    let mut granted = connection.endpoint().connection().stats().received.credits;
    for _ in 0..600 {
        connection.probe(PATIENCE)?;
        let machine = connection.endpoint().connection();
        least = least.min(machine.credits().send());
        let now = machine.stats().received.credits;
        if now > granted {
            lumps.push(now - granted);
        }
        granted = now;
    }
    holds(ksmbd.least_credits.contains(&least), || {
        format!("{least} credits were left at least, expected {:?}", ksmbd.least_credits)
    })?;
    holds(lumps.iter().all(|lump| ksmbd.renewed_at_once.contains(lump)), || {
        format!("grants of {lumps:?}, expected {:?} each", ksmbd.renewed_at_once)
    })?;
    connection.close(PATIENCE)?;
    let bounds = lumps.iter().min().zip(lumps.iter().max());
    let (smallest, largest) = bounds.ok_or("no credits were granted after the first")?;
    Ok(format!("least number of credits {least}, {} grants of {smallest} to {largest}", lumps.len()))
}

fn one_after_the_other(context: &Context) -> Outcome {
    const CONNECTIONS: u32 = 200;
    let clock = Clock::start();
    let here = Leaks::watch_after(|| smb2_and_close(connect_here(context, settings::windows())?))?;
    for number in 1..=CONNECTIONS {
        connect_here(context, settings::windows())
            .and_then(smb2_and_close)
            .map_err(|error| format!("connection {number}: {error}"))?;
    }
    let time = clock.now().saturating_since(Instant::ORIGIN);
    here.is_as_before()?;
    Ok(format!("{CONNECTIONS} with an SMB2 NEGOTIATE each in {:.1} s, nothing left", time.as_secs_f32()))
}

fn dropped(context: &Context) -> Outcome {
    let here = Leaks::watch_after(|| smb2_and_close(connect_here(context, settings::windows())?))?;
    for number in 0..20 {
        let mut connection = connect_here(context, settings::windows())?;
        if number % 2 == 1 {
            smb2_negotiate(&mut connection)?;
        }
        drop(connection);
    }
    here.is_as_before()?;
    smb2_and_close(connect_here(context, settings::windows())?)?;
    Ok("20 dropped, half of them after an answer; nothing left".to_owned())
}

fn at_the_same_time(context: &Context) -> Outcome {
    let connect = |_| connect_here(context, short_keepalive());
    let mut connections = (0..12).map(connect).collect::<Result<Vec<_>, Failure>>()?;
    for connection in &mut connections {
        smb2_negotiate(connection)?;
    }
    for connection in &mut connections {
        connection.probe(PATIENCE)?;
    }
    let number = connections.len();
    for connection in connections {
        same("end", connection.close(PATIENCE)?, CloseReason::Local)?;
    }
    Ok(format!("{number} connections, each answered"))
}
