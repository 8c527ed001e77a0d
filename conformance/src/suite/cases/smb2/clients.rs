//! What a client makes of the answers to its READs.

use smbd_core::{Access, RdmaVerb};
use smbd_smb2::wire::{Dialect, NtStatus};

use crate::suite::{Offer, Peer, Play, Stop, pattern};

const SEED: u64 = 0xc1;
const UNEXPECTED_IO_ERROR: NtStatus = NtStatus(0xC000_00E9);

/// A READ of the client, with known bytes in its buffer.
fn read_into(peer: &mut Peer<'_>) -> Result<(Offer, Vec<u8>), Stop> {
    let offer = peer.offer("", Access::Write, 0)?;
    let bytes = pattern(SEED + u64::from(offer.id), offer.content.len()).to_vec();
    peer.write_offer("", &offer, &bytes)?;
    Ok((offer, bytes))
}

pub(super) fn closed_before_use(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let (offer, bytes) = read_into(&mut peer)?;
    peer.transferred_without_token(&offer)?;
    let Some(written) = peer.writes_next()? else {
        return Err(Stop::NotApplicable("the client does not write by RDMA what it has read".into()));
    };
    peer.check("3.2.5.11-20", written == bytes, || {
        format!("the client should write the {} bytes that it has read, it writes others", bytes.len())
    });
    let Some(first) = offer.descriptors.first() else {
        return Err(Stop::Broken("a READ by RDMA without a buffer".into()));
    };
    peer.is_barred("3.2.5.11-01", RdmaVerb::Write, *first)
}

/// The client does not write what was in the buffer of a READ that it was answered like this.
fn brings_nothing(
    play: &mut Play,
    statement: &str,
    answer: fn(&mut Peer<'_>, &Offer) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let (offer, bytes) = read_into(&mut peer)?;
    answer(&mut peer, &offer)?;
    let written = peer.writes_next()?;
    peer.check(statement, written.as_deref() != Some(&bytes[..]), || {
        format!("nothing of a READ that failed should be used, its {} bytes are written", bytes.len())
    });
    Ok(())
}

pub(super) fn failed(play: &mut Play) -> Result<(), Stop> {
    brings_nothing(play, "3.2.5.11-02", |peer, offer| peer.transfer_failed(offer, UNEXPECTED_IO_ERROR))
}

pub(super) fn transform_not_negotiated(play: &mut Play) -> Result<(), Stop> {
    brings_nothing(play, "3.2.5.11-06", |peer, offer| {
        let dialect = peer.dialect_of_client()?;
        if dialect != Dialect::SMB_3_1_1 {
            return Err(Stop::NotApplicable(format!(
                "the client speaks dialect {dialect}, which has no transforms"
            )));
        }
        peer.transferred_with_transform(offer)
    })
}
