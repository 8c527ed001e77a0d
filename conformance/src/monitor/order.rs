//! The order in which a side sent its messages. A report orders them by the frame with their last byte, which differs
//! after retransmissions.

use std::collections::BTreeMap;

use smbd_sim::decode::{Item, ItemKind};

/// Messages of one direction that wait for an earlier one.
#[derive(Debug)]
struct Waiting<'a> {
    next: u64,
    held: BTreeMap<u64, &'a Item>,
}

/// The items with the messages of each direction in the order they were sent; nothing moves forward.
pub(super) fn in_order(items: &[Item]) -> Vec<&Item> {
    let mut waiting: BTreeMap<(usize, &str), Waiting<'_>> = BTreeMap::new();
    let mut ordered = Vec::with_capacity(items.len());
    for item in items {
        let ItemKind::Message(message) = &item.kind else {
            ordered.push(item);
            continue;
        };
        let key = (item.connection, item.direction.name());
        let flow = waiting.entry(key).or_insert_with(|| Waiting { next: 1, held: BTreeMap::new() });
        flow.held.insert(message.ordinal, item);
        while let Some(item) = flow.held.remove(&flow.next) {
            ordered.push(item);
            flow.next += 1;
        }
    }
    // Numbers have no gaps; whatever stays here has been counted wrong and is not dropped for it.
    ordered.extend(waiting.into_values().flat_map(|flow| flow.held.into_values()));
    ordered
}
