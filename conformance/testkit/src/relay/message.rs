//! What both models do with the bytes of a message: seals that show whether one was changed, and encryption that hides it.

use smbd_smb2::wire::header::{self, field};
use smbd_smb2::wire::{CancelRequest, Flags, Header, SessionId, Target, Transform, write_element};

/// A checksum of an element, which stands in its Signature. It covers all of a signed element, and of others what may not change
/// when a compound of answers is taken apart.
fn seal_of(element: &[u8], is_answer: bool) -> [u8; 16] {
    let mut copy = element.to_vec();
    field::SIGNATURE.set(&mut copy, [0; 16]).unwrap();
    let flags = field::FLAGS.get(&copy).unwrap();
    if is_answer && !flags.contains(Flags::SIGNED) {
        field::NEXT_COMMAND.set(&mut copy, 0).unwrap();
        field::FLAGS.set(&mut copy, flags.with(Flags::RELATED_OPERATIONS, false)).unwrap();
    }
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in copy {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    let mut seal = [0; 16];
    seal[..8].copy_from_slice(&hash.to_le_bytes());
    seal
}

/// The places of the elements of a message, if it has any.
pub fn elements(message: &[u8]) -> Option<Vec<std::ops::Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let next = Header::parse(message.get(at..)?).ok()?.next_command as usize;
        let end = if next == 0 { message.len() } else { at + next };
        found.push(at..end);
        if next == 0 {
            return Some(found);
        }
        at = end;
    }
}

/// Seals each element.
pub fn seal(message: &mut [u8], is_answer: bool) {
    for range in elements(message).unwrap() {
        let element = &mut message[range];
        let seal = seal_of(element, is_answer);
        field::SIGNATURE.set(element, seal).unwrap();
    }
}

/// CANCEL of a request that may have an AsyncId, not sealed yet.
pub fn cancel(id: u64, is_signed: bool, async_id: Option<u64>) -> Vec<u8> {
    let mut header = Header::request::<CancelRequest>(id);
    header.flags = Flags::NONE.with(Flags::SIGNED, is_signed);
    header.session_id = SessionId(if is_signed { 2 } else { 1 });
    if let Some(async_id) = async_id {
        header.target = Target::Async { async_id };
    }
    let mut message = Vec::new();
    write_element(&mut message, &header, &CancelRequest {}).unwrap();
    message
}

/// Whether an element is as it was sealed.
pub fn is_sealed(element: &[u8], is_answer: bool) -> bool {
    field::SIGNATURE.get(element).unwrap() == seal_of(element, is_answer)
}

const KEY: u8 = 0xA5;

/// Hides a message.
pub fn encrypt(message: &[u8]) -> Vec<u8> {
    let hidden: Vec<_> = message.iter().map(|byte| byte ^ KEY).collect();
    let transform = Transform {
        original_message_size: message.len() as u32,
        session_id: SessionId(3),
        encrypted: &hidden,
        ..Transform::default()
    };
    let mut out = Vec::new();
    transform.write(&mut out).unwrap();
    out
}

/// The message within, if it was hidden.
pub fn decrypt(message: &[u8]) -> Option<Vec<u8>> {
    if message.starts_with(&header::PROTOCOL_ID) {
        return None;
    }
    let transform = Transform::parse(message).ok()?;
    let is_whole = transform.original_message_size as usize == transform.encrypted.len();
    is_whole.then(|| transform.encrypted.iter().map(|byte| byte ^ KEY).collect())
}
