//! Deviations that only SMB2 can show: what cifs's transport takes is told by its going on to SESSION_SETUP.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::smb2::server::{Options, Served, Server};
use smbd_conformance::suite::rig::verbs::{Foreign, Remote, Trigger};
use smbd_conformance::suite::{Data, Peer, Play, Stop};
use smbd_smb2::wire::Command;

use super::kernel::Parameter;
use super::server::port;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::holds;
use crate::kernel_log::Log;
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::script::{broken, next_smb2, script};
use crate::smb2::its_own_header;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cifs::upper::payload_inside_the_header",
        target: Target::Cifs,
        about: "an SMB2 NEGOTIATE Response at DataOffset 0, whose first 20 bytes are the header too, is read",
        run: inside_the_header,
    },
    Case {
        name: "cifs::upper::fragments_that_do_not_continue",
        target: Target::Cifs,
        about: "an SMB2 NEGOTIATE Response whose last fragment has RemainingDataLength 5000 is followed by SESSION_SETUP",
        run: not_continuing,
    },
    Case {
        name: "cifs::upper::no_credits_requested",
        target: Target::Cifs,
        about: "CreditsRequested 0 in data: 6.12 goes on to SESSION_SETUP, 7.3 ends the connection",
        run: none_requested,
    },
];

/// How often the kernel's log is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Classes of what is logged: messages that come, and what is read of them. 7.3 logs ten lines within 5 s, and no more.
const MESSAGES: u32 = 0x2 | 0x4;

/// What the kernel logs of a message that it gives to SMB2.
const READ: &str = "returning rfc1002 length";

fn play_it(
    context: &Context,
    name: &'static str,
    steps: fn(&mut Play) -> Result<(), Stop>,
) -> Result<(), Failure> {
    let folder = "/run/smbd-live-mount";
    std::fs::create_dir_all(folder)?;
    let mount = format!(
        "exec mount -t cifs //{}/share {folder} -o username=tester,password=test123,vers=3.1.1,rdma",
        context.address
    );
    let trigger = Trigger { begin: Some(mount), end: None };
    let at = SocketAddr::new(context.address, port(context.address)?);
    let mut target = Foreign::initiator(at, trigger, Remote::default());
    script(&mut target, UnderTest::Initiator, name, steps)
}

/// A connection, and what is to be said to the SMB2 NEGOTIATE that came on it.
fn asked(play: &mut Play) -> Result<(Peer<'_>, Vec<u8>), Stop> {
    let mut peer = play.established()?;
    let message = peer.whole_message("")?.payload;
    let served = Server::new(Options::default()).take(&message).map_err(broken)?;
    let [Served::Answer(answer)] = &served[..] else {
        return Err(broken(format!("{served:?} to a NEGOTIATE")));
    };
    let answer = answer.clone();
    Ok((peer, answer))
}

/// SESSION_SETUP should come.
fn goes_on(peer: &mut Peer<'_>) -> Result<(), Stop> {
    let command = next_smb2(peer, PATIENCE)?.command;
    let is_setup = command == Command::SESSION_SETUP;
    peer.require("", is_setup, || format!("SESSION_SETUP should come, Command is {command}"))
}

/// VA-3: `recv_done` compares DataOffset and DataLength with the length of the message alone. The answer has no room for
/// SMB2 credits, so nothing can follow: that it was read is in the kernel's log.
fn inside_the_header(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let (mut peer, answer) = asked(play)?;
        let log = Log::from_here().map_err(broken)?;
        peer.say(&its_own_header(answer, 1).map_err(broken)?)?;
        // Whether it was is asked of the log afterwards.
        let until = peer.play().now().saturating_add(PATIENCE);
        while peer.play().now() < until && log.lines(READ).map_err(broken)?.is_empty() {
            peer.play().pass(POLL_INTERVAL);
        }
        Ok(())
    }
    let _talkative = Parameter::logging(MESSAGES)?;
    let log = Log::from_here()?;
    play_it(context, "fragments::data_inside_the_header_end_the_connection", say)?;
    // StructureSize of SMB2 is in the place of Flags.
    let came = log.lines(Linux::running()?.cifs().takes_header)?;
    let read = log.lines(READ)?;
    holds(came.len() == 1 && !read.is_empty(), || format!("not taken: {came:?}; not read: {read:?}"))?;
    Ok(format!("deviation from 2.2.3: {}; {}", came.join(""), read.join("")))
}

/// RA-3: `smbd_recv` adds up the lengths of the first fragment and takes as many bytes from wherever they come.
fn not_continuing(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let (mut peer, answer) = asked(play)?;
        let (first, rest) = answer.split_at(100);
        peer.send(&Data::of(first).remaining(u32::try_from(rest.len()).unwrap_or(u32::MAX)))?;
        peer.send(&Data::of(rest).remaining(5000))?;
        goes_on(&mut peer)
    }
    play_it(context, "fragments::a_sequence_cannot_grow", say)?;
    Ok("deviation from 3.1.5.8: a last fragment that leaves 5000 bytes is taken for the last".into())
}

/// CR-12: `recv_done` of 6.12 stores CreditsRequested without a look at it. 7.3 ends the connection, as 3.1.5.8 has it.
fn none_requested(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<Peer<'_>, Stop> {
        let (mut peer, answer) = asked(play)?;
        peer.send(&Data::empty().requesting(0))?;
        // Where the first has ended the connection there is nobody for this one.
        let _ = peer.send(&Data::of(&answer).requesting(0));
        Ok(peer)
    }
    fn taken(play: &mut Play) -> Result<(), Stop> {
        goes_on(&mut say(play)?)
    }
    fn refused(play: &mut Play) -> Result<(), Stop> {
        let mut peer = say(play)?;
        let from = peer.play().now();
        let is_down = peer.down_within(from, PATIENCE);
        peer.require("", is_down, || "the connection should end".into())
    }
    let case = "credits::a_message_without_a_credit_ends_the_connection";
    if Linux::running()?.cifs().takes_no_credits_requested {
        play_it(context, case, taken)?;
        return Ok("deviation from 3.1.5.8: two messages with CreditsRequested 0 are taken".into());
    }
    play_it(context, case, refused)?;
    Ok("a message with CreditsRequested 0 ends the connection".into())
}
