//! Microsoft's cases of negotiation.

use super::Entry;
use crate::suite::{Peer, Play, Request, Stop};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("BVT_SmbdNegotiate_Basic", basic),
    Entry::new("SmbdNegotiate_NegativeParameter_CreditsRequested", credits_requested),
];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "SmbdNegotiate_PreferredSendSizeWithZero",
    "SmbdNegotiate_PreferredSendSizeLessThan128",
    "SmbdNegotiate_PreferredSendSizeMaxValue",
    "SmbdNegotiate_Redundancy",
    "SmbdNegotiate_DisconnectAfterNegotiate",
    "SmbdNegotiate_UncompletedMessage",
    "SmbdNegotiate_VersionRangeNotCover0x0100_LessThanMinVersion",
    "SmbdNegotiate_VersionRangeNotCover0x0100_LargerThanMaxVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMaxVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_InMiddle",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersionAndMaxVersion",
    "SmbdNegotiate_NegativeParameter_MaxReceiveSize",
    "SmbdNegotiate_NegativeParameter_MaxFragmentedSize",
    "SmbdNegotiate_NegotiationTimer",
    "SmbdNegotiate_NegotiationTimer_Timeout",
];

/// Connects, sends a request and looks at the response. That the rest of it is as it should be is checked, too.
fn answered<'p>(
    play: &'p mut Play,
    statements: &str,
    request: &Request,
) -> Result<(Peer<'p>, smbd_core::wire::NegotiateResponse), Stop> {
    let mut peer = play.connect()?;
    peer.request(request)?;
    let (response, message) = peer.response(statements)?;
    peer.basic_check(request, &response, &message.bytes);
    Ok((peer, response))
}

fn basic(play: &mut Play) -> Result<(), Stop> {
    let request = Request::default();
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (response, message) = peer.response("2.2-03 3.1.5.3-16")?;
    peer.check("2.2-03", message.bytes.len() == 32, || {
        format!("a Negotiate Response has 32 bytes, {} came", message.bytes.len())
    });
    peer.basic_check(&request, &response, &message.bytes);
    Ok(())
}

fn credits_requested(play: &mut Play) -> Result<(), Stop> {
    let asking = |credits_requested| Request { credits_requested, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&asking(0))?;
    peer.ends("3.1.5.6-06 3.1.5.6-09");
    for credits in [1, 65535] {
        let (mut peer, response) = answered(play, "3.1.5.6-06", &asking(credits))?;
        let granted = response.credits_granted;
        peer.check("2.2.1-11 3.1.5.6-13", (1..=credits).contains(&granted), || {
            format!("CreditsGranted should be 1 to {credits}, it is {granted}")
        });
    }
    Ok(())
}
