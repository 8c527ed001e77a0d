//! READ and WRITE requests with a channel that are wrong in some way, drawn by chance.

use std::collections::BTreeSet;
use std::fmt;

use smbd_conformance::smb2::client::{By, Client, Requests};
use smbd_core::BufferDescriptorV1;
use smbd_sim::Rng;
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::read::request as read;
use smbd_smb2::wire::write::request as write;
use smbd_smb2::wire::{Channel, Command, Elements, Header, Token, WireError};

use crate::case::Failure;

/// MaxReadWriteSize of the gateway, in bytes.
const READ_WRITE_MAX: u32 = 8 << 20;
/// Bytes of READ and WRITE before their descriptors.
const HEAD: u16 = 112;
/// Of so many messages one is wrong in a way that ends its connection.
const DEADLY_EACH: u64 = 700;

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// The descriptors are shorter than the transfer.
    Short,
    /// A descriptor ends beyond the last address.
    Wraps,
    /// Descriptors of 4 GiB, of which the transfer uses a part.
    Huge,
    /// More than MaxReadWriteSize.
    AboveMax,
    /// A transfer of nothing.
    Nothing,
    /// No descriptor.
    NoDescriptors,
    /// The last descriptor is not complete.
    Ragged,
    /// Descriptors that are said to be behind the request.
    Outside,
    /// Descriptors that are said to be in its header.
    Inside,
    /// A channel that there is not.
    Channel,
    /// Hundreds of descriptors, some of them empty, most often for a transfer that is longer.
    Many,
    /// Descriptors of the same memory.
    Overlapping,
    /// Data in the message too, or more demanded than asked for.
    Contradiction,
    /// A body of another size. At 0 and 1 Samba ends the connection.
    Body,
    /// A token that names nothing.
    Token,
    /// The next request of the compound begins where there is none.
    Compound,
    /// The message ends too early.
    Cut,
}

impl Fault {
    /// Those that are refused, or harmless.
    const REFUSED: [Self; 14] = [
        Self::Short,
        Self::Wraps,
        Self::Huge,
        Self::AboveMax,
        Self::Nothing,
        Self::NoDescriptors,
        Self::Ragged,
        Self::Outside,
        Self::Inside,
        Self::Channel,
        Self::Many,
        Self::Overlapping,
        Self::Contradiction,
        Self::Body,
    ];
    /// Those after which nobody can go on with the connection.
    const DEADLY: [Self; 3] = [Self::Token, Self::Compound, Self::Cut];

    /// Those of one message. What may end the connection is alone in it.
    fn draw(rng: &mut Rng) -> Vec<Self> {
        let one = |rng: &mut Rng, of: &[Self]| of[usize::try_from(rng.below(of.len() as u64)).unwrap_or(0)];
        if rng.below(DEADLY_EACH) == 0 {
            return vec![one(rng, &Self::DEADLY)];
        }
        let count = [1, 1, 1, 2, 3][usize::try_from(rng.below(5)).unwrap_or(0)];
        (0..count).map(|_| one(rng, &Self::REFUSED)).collect()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "short descriptors",
            Self::Wraps => "a descriptor that wraps",
            Self::Huge => "huge descriptors",
            Self::AboveMax => "above MaxReadWriteSize",
            Self::Nothing => "nothing to move",
            Self::NoDescriptors => "no descriptors",
            Self::Ragged => "a ragged descriptor",
            Self::Outside => "descriptors outside",
            Self::Inside => "descriptors in the header",
            Self::Channel => "an unknown channel",
            Self::Many => "many descriptors",
            Self::Overlapping => "overlapping descriptors",
            Self::Contradiction => "a contradiction",
            Self::Body => "a body of another size",
            Self::Token => "a wrong token",
            Self::Compound => "a broken compound",
            Self::Cut => "a message that is cut",
        })
    }
}

/// A message of wrong requests.
#[derive(Clone, Debug)]
pub(super) struct Malformed {
    pub(super) bytes: Vec<u8>,
    pub(super) ids: BTreeSet<u64>,
    pub(super) faults: Vec<Fault>,
}

impl Malformed {
    /// Whether it may end the connection.
    pub(super) fn is_deadly(&self) -> bool {
        self.faults.iter().any(|fault| Fault::DEADLY.contains(fault))
    }
}

/// Draws a message of up to three requests. `memory` is what the server may use.
pub(super) fn draw(
    rng: &mut Rng,
    client: &mut Client,
    memory: BufferDescriptorV1,
) -> Result<Malformed, Failure> {
    let faults = Fault::draw(rng);
    let mut requests = Requests::new(client);
    for fault in &faults {
        let (descriptors, len) = descriptors(rng, *fault, memory);
        let by = By { channel: Channel::RDMA_V1, descriptors: &descriptors };
        let offset = rng.below(1 << 20);
        match rng.below(2) {
            0 => requests.read_by(&by, len, offset)?,
            _ => requests.write_by(&by, len, offset)?,
        }
    }
    let (mut bytes, _) = requests.finish();
    let places = places(&bytes)?;
    let ids = places.iter().map(|place| place.id).collect();
    for (fault, place) in faults.iter().zip(&places) {
        let element = bytes.get_mut(place.begin..place.begin + place.len).ok_or("a request has a place")?;
        spoil(rng, *fault, place.command, element)?;
    }
    if faults.contains(&Fault::Cut) {
        bytes.truncate(usize::try_from(65 + rng.below(bytes.len() as u64 - 66))?);
    }
    Ok(Malformed { bytes, ids, faults })
}

/// Where a request is in a message.
struct Place {
    begin: usize,
    len: usize,
    id: u64,
    command: Command,
}

fn places(message: &[u8]) -> Result<Vec<Place>, WireError> {
    let mut begin = 0;
    Elements::new(message)
        .map(|element| {
            let element = element?;
            let Header { message_id, command, .. } = element.header;
            let place = Place { begin, len: element.bytes.len(), id: message_id.0, command };
            begin += element.bytes.len();
            Ok(place)
        })
        .collect()
}

/// What the request names, and how many bytes it is to move.
fn descriptors(rng: &mut Rng, fault: Fault, memory: BufferDescriptorV1) -> (Vec<BufferDescriptorV1>, u32) {
    let most = u64::from(memory.length);
    let part = |from: u64, len: u64| BufferDescriptorV1 {
        offset: memory.offset.saturating_add(from),
        length: u32::try_from(len).unwrap_or(u32::MAX),
        ..memory
    };
    // Few of those that succeed move much.
    let longest = if rng.below(16) == 0 { most / 8 } else { 2048 };
    let (count, each) = match fault {
        Fault::Many => (200 + rng.below(300), 64),
        _ => (1 + rng.below(4), 2 + rng.below(longest)),
    };
    let mut all = Vec::new();
    let (mut at, mut sum) = (0, 0);
    for _ in 0..count {
        let len = if fault == Fault::Many { rng.below(each) } else { each };
        let from = if fault == Fault::Overlapping { rng.below(most - len) } else { at };
        all.push(part(from, len));
        (at, sum) = (at + len, sum + len);
    }
    // The length decides how many credits the request takes: it is spoilt later.
    let len = u32::try_from(sum.max(1)).unwrap_or(1);
    let one = usize::try_from(rng.below(all.len() as u64)).unwrap_or(0);
    match fault {
        Fault::Wraps => all[one].offset = u64::MAX - rng.below(u64::from(all[one].length) - 1),
        Fault::Huge => {
            all.truncate(1);
            all.iter_mut().for_each(|descriptor| descriptor.length = u32::MAX);
            all.resize(1 + usize::try_from(rng.below(5)).unwrap_or(0), all[0]);
        }
        Fault::AboveMax => all.iter_mut().for_each(|descriptor| descriptor.length = u32::MAX),
        Fault::Token => all[one].token = Token(memory.token.0 ^ 1 << rng.below(32)),
        _ => {}
    }
    (all, len)
}

fn spoil(rng: &mut Rng, fault: Fault, command: Command, element: &mut [u8]) -> Result<(), Failure> {
    let is_read = command == Command::READ;
    let info = if is_read {
        (&read::READ_CHANNEL_INFO_OFFSET, &read::READ_CHANNEL_INFO_LENGTH)
    } else {
        (&write::WRITE_CHANNEL_INFO_OFFSET, &write::WRITE_CHANNEL_INFO_LENGTH)
    };
    let len = if is_read { &read::LENGTH } else { &write::REMAINING_BYTES };
    let short = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    match fault {
        // Each descriptor of one that is right is an operation.
        Fault::Many if rng.below(40) == 0 => {}
        Fault::Short | Fault::Many => {
            let right = len.get(element)?;
            len.set(
                element,
                right.saturating_add(1 + u32::try_from(rng.below(u64::from(READ_WRITE_MAX / 2)))?),
            )?;
        }
        Fault::AboveMax => {
            let more = u32::try_from(rng.below(u64::from(u32::MAX - READ_WRITE_MAX)))?;
            len.set(
                element,
                READ_WRITE_MAX + 1 + if rng.below(2) == 0 { rng.below(3) as u32 } else { more - more.min(1) },
            )?;
        }
        Fault::Nothing => len.set(element, 0)?,
        Fault::NoDescriptors => info.1.set(element, 0)?,
        Fault::Ragged => {
            let right = info.1.get(element)?;
            info.1.set(element, right - short(1 + rng.below(15)))?;
        }
        Fault::Outside if rng.below(2) == 0 => {
            let behind = element.len() as u64;
            info.0.set(element, short(behind + rng.below(u64::from(u16::MAX))))?;
        }
        Fault::Outside => info.1.set(element, short(element.len() as u64 + 16 * rng.below(4096)))?,
        Fault::Inside => info.0.set(element, short(rng.below(HEAD.into())))?,
        Fault::Channel => {
            let channel = Channel(
                [3, 4, 0x100, u32::MAX, 3 + (rng.bits() as u32 >> 1)][usize::try_from(rng.below(5))?],
            );
            if is_read {
                read::CHANNEL.set(element, channel)?
            } else {
                write::CHANNEL.set(element, channel)?
            }
        }
        Fault::Contradiction if is_read => {
            read::MINIMUM_COUNT.set(element, u32::MAX - rng.bits() as u32 % 3)?
        }
        Fault::Contradiction => {
            write::DATA_OFFSET.set(element, short(rng.below(1 << 16)))?;
            write::LENGTH.set(element, 1 + rng.bits() as u32 / 2)?;
        }
        Fault::Body => {
            read::STRUCTURE_SIZE.set(element, [2, 48, 50, u16::MAX][usize::try_from(rng.below(4))?])?
        }
        Fault::Compound => {
            field::NEXT_COMMAND
                .set(element, [1, 7, 63, 64, 65, 1 << 20, u32::MAX][usize::try_from(rng.below(7))?])?;
        }
        Fault::Wraps | Fault::Huge | Fault::Overlapping | Fault::Token | Fault::Cut => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: BufferDescriptorV1 =
        BufferDescriptorV1 { offset: 0x1000, token: Token(7), length: 256 << 10 };

    #[test]
    fn a_seed_draws_the_same_requests_and_all_faults_are_drawn() {
        let drawn = |seed| {
            let (mut rng, mut client) = (Rng::new(seed), Client::new(Default::default()));
            let all = (0..6000).map(|_| draw(&mut rng, &mut client, MEMORY).unwrap());
            all.collect::<Vec<_>>()
        };
        let (first, second) = (drawn(1), drawn(1));
        assert!(first.iter().map(|one| &one.bytes).eq(second.iter().map(|one| &one.bytes)));
        let faults: BTreeSet<_> = first.iter().flat_map(|one| one.faults.clone()).collect();
        assert_eq!(faults.len(), Fault::REFUSED.len() + Fault::DEADLY.len());
        // As many as have a place.
        assert!(first.iter().all(|one| one.faults.len() == one.ids.len()));
        let deadly: Vec<_> = first.iter().filter(|one| one.is_deadly()).collect();
        assert!((1..60).contains(&deadly.len()) && deadly.iter().all(|one| one.ids.len() == 1));
    }
}
