//! Keepalive, ends, and many connections.

use std::process::Command;
use std::thread;
use std::time::Duration;

use smbd_core::error::CloseReason;
use smbd_core::{Instant, Keepalive, Params};
use smbd_verbs::Clock;

use super::{PATIENCE, connect_here, smb2_and_close, smb2_negotiate};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::life::keepalive",
        target: Target::Ksmbd,
        about: "idle for several keepalive intervals: ksmbd answers each question at once",
        run: keepalive,
    },
    Case {
        name: "ksmbd::life::silence",
        target: Target::Ksmbd,
        about: "without questions ksmbd says nothing and keeps the connection",
        run: silence,
    },
    Case {
        name: "ksmbd::life::answers_use_up_credits",
        target: Target::Ksmbd,
        about: "600 questions: ksmbd grants again when 31 of 255 are left",
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

fn short_keepalive() -> Params {
    let keepalive =
        Keepalive { interval: Duration::from_millis(800), answer_timeout: Duration::from_millis(800) };
    Params { keepalive: Some(keepalive), strict: true, ..Params::windows() }
}

/// 3.1.5.8: SMB_DIRECT_RESPONSE_REQUESTED is answered immediately. ksmbd does, with an empty message that asks nothing.
fn keepalive(context: &Context) -> Outcome {
    let mut connection = connect_here(context, short_keepalive())?;
    smb2_negotiate(&mut connection)?;
    let before = *connection.endpoint().connection().stats();
    connection.idle(Duration::from_millis(3700))?;
    let after = *connection.endpoint().connection().stats();
    let asked = after.sent.keepalives - before.sent.keepalives;
    let answers = after.received.messages - before.received.messages;
    same("questions in 3.7 s at 0.8 s", asked, 4)?;
    same("answers", answers, asked)?;
    same("questions of ksmbd", after.received.keepalives, 0)?;
    let took = connection.probe(PATIENCE)?;
    same("end", connection.close(PATIENCE)?, CloseReason::Local)?;
    Ok(format!("{asked} questions, {answers} answers, all empty; a probe took {} us", took.as_micros()))
}

/// ksmbd has no idle timer: 3.1.6.2 of its side never happens. A client that vanishes without the transport's notice is
/// kept until ksmbd has something to send.
fn silence(context: &Context) -> Outcome {
    let params = Params { keepalive: None, strict: true, ..Params::windows() };
    let mut connection = connect_here(context, params)?;
    smb2_negotiate(&mut connection)?;
    // A grant of the negotiation may still be on its way.
    connection.idle(Duration::from_millis(200))?;
    let before = connection.endpoint().connection().stats().received.messages;
    connection.idle(Duration::from_secs(2))?;
    let after = connection.endpoint().connection().stats().received.messages;
    same("messages in 2 s", after - before, 0)?;
    connection.probe(PATIENCE)?;
    connection.close(PATIENCE)?;
    Ok("no message in 2 s, a probe afterwards is answered".into())
}

/// ksmbd posts receives again, and grants them, only when an eighth of its 255 is left: in one lump (3.1.5.9 leaves it
/// open). A client must live with being let down to 31.
fn answers_use_up_credits(context: &Context) -> Outcome {
    let mut connection = connect_here(context, Params { strict: true, ..Params::windows() })?;
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
    holds((30..=32).contains(&least), || {
        format!("{least} credits were left at least, about 31 were expected")
    })?;
    holds(lumps.iter().all(|lump| *lump > 100), || format!("grants of {lumps:?}, lumps were expected"))?;
    connection.close(PATIENCE)?;
    Ok(format!("least number of credits {least}, grants of {lumps:?}"))
}

fn one_after_the_other(context: &Context) -> Outcome {
    const CONNECTIONS: u32 = 200;
    let clock = Clock::start();
    let here = Held::settled(context)?;
    for number in 1..=CONNECTIONS {
        connect_here(context, Params::windows())
            .and_then(smb2_and_close)
            .map_err(|error| format!("connection {number}: {error}"))?;
    }
    let time = clock.now().saturating_since(Instant::ORIGIN);
    here.is_all()?;
    Ok(format!(
        "{CONNECTIONS} with an SMB2 NEGOTIATE each in {:.1} s, nothing left: {here}",
        time.as_secs_f32()
    ))
}

fn dropped(context: &Context) -> Outcome {
    let here = Held::settled(context)?;
    for number in 0..20 {
        let mut connection = connect_here(context, Params::windows())?;
        if number % 2 == 1 {
            smb2_negotiate(&mut connection)?;
        }
        drop(connection);
    }
    here.is_all()?;
    smb2_and_close(connect_here(context, Params::windows())?)?;
    Ok(format!("20 dropped, half of them after an answer; nothing left: {here}"))
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

/// What this process holds of the system, and the device of objects.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    files: usize,
    objects: String,
}

impl Held {
    /// After a first connection, when what is made once is there, and when the server has let go of it.
    fn settled(context: &Context) -> Result<Self, Failure> {
        smb2_and_close(connect_here(context, Params::windows())?)?;
        let mut before = Self::now()?;
        loop {
            // A device's objects cannot be waited for.
            thread::sleep(Duration::from_millis(700));
            let now = Self::now()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
    }

    fn now() -> Result<Self, Failure> {
        let files = std::fs::read_dir("/proc/self/fd")?.count();
        let said = Command::new("rdma").args(["resource", "show"]).output()?;
        Ok(Self { files, objects: String::from_utf8_lossy(&said.stdout).trim().to_owned() })
    }

    /// Demands that no more is held, at the latest in 10 s: ksmbd frees its side on threads of its own.
    fn is_all(&self) -> Result<(), Failure> {
        let clock = Clock::start();
        loop {
            let now = Self::now()?;
            if now == *self {
                return Ok(());
            }
            if clock.now().saturating_since(Instant::ORIGIN) > Duration::from_secs(10) {
                return Err(format!("before: {self}; now: {now}").into());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} files, {}", self.files, self.objects)
    }
}
