use alloc::vec::Vec;

use bytes::Bytes;
use proptest::prelude::*;

use super::Outgoing;
use crate::{Config, MsgId, Params};

proptest! {
    #[test]
    fn each_payload_is_found_and_taken_once_and_no_place_is_left_behind(
        first in prop_oneof![Just(0), Just(u32::MAX - 3), any::<u32>()],
        takes in prop::collection::vec(prop::option::of(0..8_usize), 0..60),
    ) {
        let mut outgoing = Outgoing::new(&Config::try_from(Params::example()).unwrap());
        let (mut next, mut present) = (first, Vec::new());
        for take in takes {
            match take {
                Some(at) if at < present.len() => {
                    let msg: MsgId = present.remove(at);
                    let payload = Bytes::copy_from_slice(&msg.sequence().to_le_bytes());
                    prop_assert_eq!(outgoing.get(msg), Some(&payload));
                    prop_assert_eq!(outgoing.take(msg), Some(payload));
                    prop_assert_eq!(outgoing.take(msg), None);
                }
                _ => {
                    let msg = MsgId(next);
                    outgoing.put(msg, Bytes::copy_from_slice(&next.to_le_bytes()));
                    present.push(msg);
                    next = next.wrapping_add(1);
                }
            }
            // From the oldest that is present to the newest that was put.
            let span = present.first().map_or(0, |oldest| next.wrapping_sub(oldest.sequence()));
            prop_assert_eq!(u32::try_from(outgoing.messages.len()), Ok(span));
            prop_assert_eq!(outgoing.get(MsgId(next)), None);
        }
    }
}
