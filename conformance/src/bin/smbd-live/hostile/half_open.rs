//! Connections that are opened and not used.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_reuseaddr;
use smbd_core::backend::{Backend, BackendOp};
use smbd_core::{Config, Input, Params};
use smbd_verbs::{Clock, LinkType, VerbsConnection};

use super::accept_queue;
use super::siege::{OPTIONS, Siege};
use crate::case::{Context, Failure, Outcome, Skipped};
use crate::device;
use crate::patience::PATIENCE;

/// What the server says of one that has not negotiated in time.
const TOO_LONG: &str = "negotiation took too long (3.1.6.1)";
/// How many of one attacker are open at a time: more than the server allows of one host.
const OPEN: usize = 30;
/// Connections after which siw's listener is thought to stand them all.
const HASTY_MAX: u32 = 2000;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Connections of the RDMA connection manager without a word of SMB Direct.
struct Opened {
    clock: Clock,
    config: Config,
    open: Vec<VerbsConnection>,
    up: usize,
    refused: usize,
}

impl Opened {
    fn new() -> Result<Self, Failure> {
        let params = Params {
            receive_credit_max: 4,
            max_receive_size: 512,
            borrowed_max: 0,
            send_slots: 2,
            message_slots: 1,
            rdma_ops: 1,
            rdma_slots: 1,
            registrations: 0,
            segments_max: 0,
            registration_slots: 0,
            ..Params::example()
        };
        let config = Config::try_from(params)?;
        Ok(Self { clock: Clock::start(), config, open: Vec::new(), up: 0, refused: 0 })
    }

    /// Opens one more, up or refused. The oldest goes if there are too many.
    fn another(&mut self, to: SocketAddr) -> Result<(), Failure> {
        let mut end = VerbsConnection::connect(to, None, &self.config, self.clock)?;
        end.execute(BackendOp::Connect);
        end.ring_doorbell();
        let until = self.clock.now().saturating_add(PATIENCE);
        loop {
            match end.next_input() {
                Some(Input::Connected { .. }) => {
                    self.up += 1;
                    self.open.push(end);
                    break;
                }
                Some(Input::ConnectFailed { .. } | Input::Disconnected { .. }) => {
                    self.refused += 1;
                    destroy(end);
                    break;
                }
                _ if self.clock.now() >= until => {
                    return Err("an attempt neither succeeded nor failed".into());
                }
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
        if self.open.len() > OPEN {
            destroy(self.open.remove(0));
        }
        Ok(())
    }

    /// Lets go of all, as a process that ends.
    fn leave(&mut self) {
        self.open.drain(..).for_each(destroy);
    }
}

/// On rxe the kernel may take more than a minute to forget a connection.
fn destroy(end: VerbsConnection) {
    thread::spawn(move || drop(end));
}

/// The server's timer is long: on a busy host connections would time out as fast as they are opened, and the limit would never
/// be reached.
pub(super) fn few(context: &Context) -> Outcome {
    half_open(context, "half-open", 40, &["--timeout", "90"])
}

pub(super) fn thousands(context: &Context) -> Outcome {
    half_open(context, "half-open-thousands", 2000, &[])
}

/// As many as there may be of one host, and each time one has gone, the next.
fn half_open(context: &Context, name: &'static str, count: usize, timer: &[&str]) -> Outcome {
    let siege = Siege::with(context, name, &[OPTIONS, timer].concat())?;
    let mark = siege.echo.mark();
    let mut opened = Opened::new()?;
    let mut admitted = String::new();
    for number in 0..count {
        opened.another(siege.echo.at)?;
        if number == count / 2 {
            admitted = siege.admits_another()?;
        }
    }
    let (up, refused) = (opened.up, opened.refused);
    siege.honest.goes_on(1)?;
    if timer.is_empty() {
        siege.echo.said(mark, &[&siege.attacker, TOO_LONG])?;
    }
    siege.echo.said(mark, &[&siege.attacker, "was refused: too many connections of this host"])?;
    opened.leave();
    let named = siege.echo.count(mark, &[&siege.attacker, TOO_LONG]);
    let ways = ["did not come up: connection lost", "did not come up: closed by the peer"];
    let lost: usize = ways.iter().map(|way| siege.echo.count(mark, &[&siege.attacker, way])).sum();
    let seen = format!(
        "{up} half-open, {refused} refused; in the log {named} took too long, {lost} were given up; {admitted}"
    );
    siege.end(seen)
}

/// Connections that nobody gives up but the server.
pub(super) fn unfinished(context: &Context) -> Outcome {
    const CONNECTIONS: usize = 3;
    let siege = Siege::begin(context, "unfinished")?;
    let mark = siege.echo.mark();
    let mut opened = Opened::new()?;
    for _ in 0..CONNECTIONS {
        opened.another(siege.echo.at)?;
    }
    let until = opened.clock.now().saturating_add(PATIENCE);
    let named = || siege.echo.count(mark, &[&siege.attacker, TOO_LONG]);
    while named() < CONNECTIONS {
        if opened.clock.now() >= until {
            return Err(format!("{} of {CONNECTIONS} ran into the timer", named()).into());
        }
        thread::sleep(POLL_INTERVAL);
    }
    opened.leave();
    siege.end(format!("{CONNECTIONS} half-open; in the log {CONNECTIONS} took too long"))
}

pub(super) fn gone_few(context: &Context) -> Outcome {
    gone(context, "gone", 20)
}

pub(super) fn gone_hundreds(context: &Context) -> Outcome {
    gone(context, "gone-hundreds", 500)
}

/// Connected, and disconnected before anything is said.
fn gone(context: &Context, name: &'static str, count: usize) -> Outcome {
    let siege = Siege::begin(context, name)?;
    let mark = siege.echo.mark();
    let mut opened = Opened::new()?;
    for _ in 0..count {
        opened.another(siege.echo.at)?;
        for mut end in opened.open.drain(..) {
            end.execute(BackendOp::Disconnect);
            destroy(end);
        }
    }
    siege.honest.goes_on(1)?;
    siege.echo.said(mark, &[&siege.attacker, "did not come up: ", "during negotiation", "(3.1.7.1)"])?;
    let admitted = siege.admits_another()?;
    let lost = siege.echo.count(mark, &[&siege.attacker, "did not come up"]);
    let seen = format!(
        "{} came up and went, {} were refused; in the log {lost}; {admitted}",
        opened.up, opened.refused
    );
    siege.end(seen)
}

pub(super) fn bare_few(context: &Context) -> Outcome {
    bare(context, "bare", 50)
}

pub(super) fn bare_thousands(context: &Context) -> Outcome {
    bare(context, "bare-thousands", 2000)
}

/// What there is to show takes TCP below the device.
fn needs_tcp(context: &Context) -> Result<(), Failure> {
    let link = device::link_type(context.address)?;
    if link == LinkType::Iwarp {
        return Ok(());
    }
    Err(Skipped::because(format!("there is no TCP below {link}")))
}

/// TCP connections that say nothing, or something else than MPA. They end in siw, before anybody hears of them.
///
/// None ends before siw has accepted it: see [`bare_hasty`].
fn bare(context: &Context, name: &'static str, count: usize) -> Outcome {
    needs_tcp(context)?;
    let siege = Siege::begin(context, name)?;
    let (mut open, mut opened, mut refused) = (VecDeque::new(), 0, 0);
    for number in 0..count {
        match TcpStream::connect_timeout(&siege.echo.at, PATIENCE) {
            Ok(mut stream) => {
                opened += 1;
                // Its port is free for others as soon as it has ended: siw's clients take ports that it does not give out.
                set_socket_reuseaddr(&stream, true)?;
                if number % 2 == 1 {
                    // Refused if siw has closed it already.
                    let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n and some more bytes");
                }
                open.push_back(stream);
            }
            Err(_) => refused += 1,
        }
        if open.len() > OPEN {
            accept_queue::await_empty(siege.echo.at)?;
            open.drain(..open.len() / 2);
        }
    }
    let admitted = siege.admits_another()?;
    siege.honest.goes_on(1)?;
    accept_queue::await_empty(siege.echo.at)?;
    drop(open);
    let seen = format!("{opened} of {count} opened, {refused} refused; {admitted}");
    siege.end(seen)
}

/// The same in haste. A connection that ends before siw has accepted it still has the listener's callbacks, and siw takes its
/// end for the listener's: it closes it, and later falls over what is left of it (docs/hostile.md).
pub(super) fn bare_hasty(context: &Context) -> Outcome {
    needs_tcp(context)?;
    let siege = Siege::begin(context, "bare-hasty")?;
    for number in 1..=HASTY_MAX {
        if TcpStream::connect_timeout(&siege.echo.at, PATIENCE).is_err() {
            eprintln!("hostile::bare_hasty: siw's listener was gone after {number} connections");
            break;
        }
    }
    let admitted = siege.admits_another()?;
    siege.end(admitted)
}
