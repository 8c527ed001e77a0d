//! Microsoft's cases of data transfer.

use std::time::Duration;

use smbd_core::{Instant, Keepalive, Params};

use super::Entry;
use crate::suite::{Data, PATIENCE, Peer, Play, Seen, Stop, Terms, pattern};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData", small),
    Entry::new("SmbdDataTransfer_IdleConnection_Server", idle_server).with(keepalive_of_the_text),
];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "BVT_SmbdDataTransfer_Basic_SendModerateBytesData",
    "SmbdDataTransfer_VariableLengthSegment",
    "SmbdDataTransfer_SmallLengthSegment",
    "SmbdDataTransfer_Redundancy",
    "SmbdDataTransfer_ReceiveMaxReceiveSize",
    "SmbdDataTransfer_UncompletedMessage",
    "SmbdDataTransfer_NegativeParameter_DataOffset_Against8ByteAligned",
    "SmbdDataTransfer_NegativeParameter_DataOffset_AgainstMessageLength",
    "SmbdDataTransfer_NegativeParameter_DataLength_AgainstMessageLength",
    "SmbdDataTransfer_NegativeParameter_DataLength_AgainstMaxReceiveSize",
    "SmbdDataTransfer_NegativeParameter_AgainstMaxFragmentedSize",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstMaxFragmentedSize",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_Zero",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstFragmentReassemblyRemaining",
    "SmbdDataTransfer_IdleConnection_Client",
    "SmbdDataTransfer_IdleConnection_Server_Timeout",
];

/// KeepaliveInterval 120 s, and 5 s for the answer.
fn keepalive_of_the_text(params: &mut Params) {
    let (interval, answer_timeout) = (Duration::from_secs(120), Duration::from_secs(5));
    params.keepalive = Some(Keepalive { interval, answer_timeout });
}

fn small(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let payload = pattern(1, 500);
    peer.send(&Data::of(&payload))?;
    let echo = peer.echoed("1.7-04 2.2-02 2.2.3-21 3.1.5.4-10 3.1.5.8-24", &payload)?;
    let Some(seen) = echo.fragments.first() else { return Ok(()) };
    let header = seen.header;
    peer.check("2.2.3-02", header.credits_requested >= 1, || {
        "CreditsRequested should be 1 at least, it is 0".into()
    });
    peer.check("2.2.3-12", header.remaining_data_length == 0, || {
        format!("RemainingDataLength should be 0, it is {}", header.remaining_data_length)
    });
    peer.check("2.2.3-13 2.2.3-15", header.data_offset % 8 == 0, || {
        format!("DataOffset should be a multiple of 8, it is {}", header.data_offset)
    });
    peer.check("2.2.3-16", header.data_length == 500, || {
        format!("DataLength should be 500, it is {}", header.data_length)
    });
    Ok(())
}

/// The next message, which should come 120 to 125 s after `from`, and have these flags and nothing in it.
fn sign_of_life(peer: &mut Peer<'_>, statements: &str, from: Instant) -> Result<Seen, Stop> {
    let seen = peer.expect_data(statements, PATIENCE + Duration::from_secs(10))?;
    let after = seen.message.at.saturating_since(from);
    let in_time = (Duration::from_secs(120)..=Duration::from_secs(125)).contains(&after);
    peer.check(statements, in_time, || {
        format!(
            "a message should come 120 to 125 s after the last one of the script, it came after {after:?}"
        )
    });
    bare(peer, &seen, "3.1.5.1-11", 1);
    Ok(seen)
}

/// A message without data, and its flags.
fn bare(peer: &mut Peer<'_>, seen: &Seen, statements: &str, flags: u16) {
    let header = seen.header;
    peer.check(statements, header.flags.0 == flags, || {
        format!("Flags should be {flags}, they are {}", header.flags.0)
    });
    let nothing = [header.data_offset, header.data_length, header.remaining_data_length] == [0; 3];
    peer.check(statements, header.credits_requested >= 1 && nothing, || {
        format!("CreditsRequested should be 1 at least and all about data 0, it is {header:?}")
    });
}

fn idle_server(play: &mut Play) -> Result<(), Stop> {
    const INTERVAL: &str = "3.1.2.2-01 3.1.2.2-02 3.1.6.2-01 3.1.6.2-03 3.1.6.2-04";
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.send(&Data::empty())?;
    let from = peer.last_said();
    sign_of_life(&mut peer, &format!("{INTERVAL} 3.1.5.6-21"), from)?;
    peer.play().pass(Duration::from_secs(4));
    peer.send(&Data { flags: 1, ..Data::empty().requesting(255).granting(1) })?;
    let answer = peer.expect_data("3.1.5.1-13", Duration::from_secs(6))?;
    bare(&mut peer, &answer, "3.1.5.1-13", 0);
    let from = peer.last_said();
    sign_of_life(&mut peer, &format!("{INTERVAL} 3.1.5.5-03"), from)?;
    Ok(())
}
