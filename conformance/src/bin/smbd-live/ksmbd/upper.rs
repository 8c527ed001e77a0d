//! Deviations that only SMB2 can show: what ksmbd's transport takes is told by the answer to an SMB2 NEGOTIATE.

use std::net::SocketAddr;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::rig::verbs::{Foreign, Remote};
use smbd_conformance::suite::{Data, Peer, Play, Stop};
use smbd_smb2::wire::{Command, NtStatus};

use super::port;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::script::{broken, next_smb2, script};
use crate::smb2::{its_own_header, negotiate};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::upper::payload_inside_the_header",
        target: Target::Ksmbd,
        about: "an SMB2 NEGOTIATE at DataOffset 0, whose first 20 bytes are the header too, is answered",
        run: inside_the_header,
    },
    Case {
        name: "ksmbd::upper::fragments_that_do_not_continue",
        target: Target::Ksmbd,
        about: "an SMB2 NEGOTIATE whose last fragment has RemainingDataLength 5000 is answered",
        run: not_continuing,
    },
];

fn play_it(
    context: &Context,
    name: &'static str,
    steps: fn(&mut Play) -> Result<(), Stop>,
) -> Result<(), Failure> {
    let usual = Profile::named(Linux::running()?.profile())?.acceptor.script;
    let at = SocketAddr::new(context.address, port());
    let mut target = Foreign::acceptor(at, Remote { usual: Some(usual), ..Remote::default() });
    script(&mut target, UnderTest::Acceptor, name, steps)
}

/// An SMB2 NEGOTIATE Response with STATUS_SUCCESS should come.
fn answered(peer: &mut Peer<'_>) -> Result<(), Stop> {
    let header = next_smb2(peer, PATIENCE)?;
    let is_good =
        header.status == NtStatus::SUCCESS && header.command == Command::NEGOTIATE && header.is_response();
    peer.require("", is_good, || {
        format!(
            "a good SMB2 NEGOTIATE Response should come, Status is {}, Command {}",
            header.status, header.command
        )
    })
}

/// VA-3: ksmbd compares DataOffset and DataLength with the length of the message alone (`recv_done`).
fn inside_the_header(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let mut peer = play.established()?;
        peer.send(&Data::empty().granting(10))?;
        peer.say(&its_own_header(negotiate(0), 0).map_err(broken)?)?;
        answered(&mut peer)
    }
    play_it(context, "fragments::data_inside_the_header_end_the_connection", say)?;
    Ok("deviation from 2.2.3: an SMB2 NEGOTIATE at DataOffset 0 is answered".into())
}

/// RA-3: ksmbd adds up the lengths of the first fragment and takes as many bytes from wherever they come
/// (`smb_direct_read`).
fn not_continuing(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let mut peer = play.established()?;
        peer.send(&Data::empty().granting(10))?;
        let bytes = negotiate(0);
        let (first, rest) = bytes.split_at(100);
        peer.send(&Data::of(first).remaining(u32::try_from(rest.len()).unwrap_or(u32::MAX)))?;
        peer.send(&Data::of(rest).remaining(5000))?;
        answered(&mut peer)
    }
    play_it(context, "fragments::a_sequence_cannot_grow", say)?;
    Ok("deviation from 3.1.5.8: a last fragment that leaves 5000 bytes is taken for the last".into())
}
