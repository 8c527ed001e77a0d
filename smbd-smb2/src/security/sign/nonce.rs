//! Nonces of AES-GMAC: never the same for two things that are signed with one key.
//!
//! A message has its MessageId and 32 bits of flags: bit 0 if the server sends it, bit 1 if it is a CANCEL, the others 0 (3.1.4.1,
//! SE-4). Data that go by RDMA have a nonce of which the text says only that no message has it (2.2.43.1, SE-5). Here it has a count,
//! bit 0 as in a message, since both sides have the same key, and bit 31, which no message has.

use crate::side::Side;
use crate::wire::MessageId;

const SERVER: u32 = 1;
const CANCEL: u32 = 1 << 1;
const RDMA: u32 = 1 << 31;

/// That of a message.
pub(super) fn of_message(message_id: MessageId, sender: Side, is_cancel: bool) -> [u8; 12] {
    nonce(message_id.0, sender, if is_cancel { CANCEL } else { 0 })
}

/// That of the transfer with this number.
pub(super) fn of_transfer(number: u64, sender: Side) -> [u8; 12] {
    nonce(number, sender, RDMA)
}

fn nonce(number: u64, sender: Side, flags: u32) -> [u8; 12] {
    let role = match sender {
        Side::Client => 0,
        Side::Server => SERVER,
    };
    let mut nonce = [0; 12];
    let bytes = number.to_le_bytes().into_iter().chain((flags | role).to_le_bytes());
    for (to, from) in nonce.iter_mut().zip(bytes) {
        *to = from;
    }
    nonce
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn side() -> impl Strategy<Value = Side> {
        prop_oneof![Just(Side::Client), Just(Side::Server)]
    }

    proptest! {
        #[test]
        fn no_transfer_has_the_nonce_of_a_message_or_of_another_transfer(
            id: u64, number: u64, other: u64, sender in side(), of in side(), is_cancel: bool,
        ) {
            prop_assert_ne!(of_transfer(number, sender), of_message(MessageId(id), of, is_cancel));
            prop_assert_ne!(of_transfer(id, sender), of_message(MessageId(id), of, is_cancel));
            prop_assert_eq!(of_transfer(number, sender) == of_transfer(other, of), number == other && sender == of);
            prop_assert_ne!(of_transfer(number, Side::Client), of_transfer(number, Side::Server));
        }
    }

    #[test]
    fn the_nonce_of_a_message_is_its_id_and_a_bit_each_for_the_server_and_a_cancel() {
        let id = MessageId(0x0102_0304_0506_0708);
        let of = |sender, is_cancel| of_message(id, sender, is_cancel);
        assert_eq!(of(Side::Client, false), [8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(of(Side::Server, false), [8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0]);
        assert_eq!(of(Side::Client, true), [8, 7, 6, 5, 4, 3, 2, 1, 2, 0, 0, 0]);
    }
}
