//! What an owner must not do.

use smbd_broker::wire::{Call, Command, Messages, Packet, Request};
use smbd_testkit::Chance;

/// Calls of a flood.
const FLOOD: usize = 700;
/// The tags of its calls begin here.
const FLOOD_TAGS: u64 = 1 << 40;

/// Another packet in the place of a valid one.
pub fn change(packet: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    let at = chance.below(bytes.len().max(1));
    match chance.below(8) {
        // Fields have 2, 4 or 8 bytes.
        0 => set(&mut bytes, at & !1, &(chance.bits() as u16).to_le_bytes()),
        1 => set(&mut bytes, at & !3, &(chance.bits() as u32).to_le_bytes()),
        2 => set(&mut bytes, at & !7, &u64::MAX.to_le_bytes()),
        3 => set(&mut bytes, at & !3, &1_u32.to_le_bytes()),
        4 => bytes.truncate(at),
        5 => bytes.extend_from_slice(packet),
        6 => set(&mut bytes, 0, &(packet.len() as u32 + chance.below(100) as u32).to_le_bytes()),
        _ => bytes[at] ^= 1 << chance.below(8),
    }
    bytes
}

fn set(bytes: &mut [u8], at: usize, to: &[u8]) {
    let room = bytes.len().saturating_sub(at).min(to.len());
    bytes[at..at + room].copy_from_slice(&to[..room]);
}

/// A packet of very many calls, each of which has an answer.
pub fn flood() -> Vec<u8> {
    let mut packet = Packet::new();
    for tag in 0..FLOOD as u64 {
        Request { tag: FLOOD_TAGS | tag, call: Call::Listen { is_on: false } }.write(&mut packet);
    }
    packet.bytes().to_vec()
}

/// Messages that nobody is there to send.
pub fn commands(chance: &mut Chance) -> Vec<u8> {
    let mut packet = Packet::new();
    for _ in 0..chance.size(1, 200) {
        match chance.below(3) {
            0 => Command::Taken { count: chance.size(1, 9) as u32 }.write(&mut packet),
            1 => Command::Send { remaining: 0, invalidate: None, bytes: b"nothing" }.write(&mut packet),
            _ => {
                let remaining = chance.below(5) as u32;
                Command::Send { remaining, invalidate: None, bytes: b"a part" }.write(&mut packet);
            }
        }
    }
    packet.bytes().to_vec()
}

/// How many answers to calls of a flood are in a packet.
pub fn answers_of_floods(packet: &[u8]) -> u64 {
    let tags = FLOOD_TAGS..FLOOD_TAGS + FLOOD as u64;
    Messages::of(packet).flatten().filter(|message| tags.contains(&message.tag)).count() as u64
}
