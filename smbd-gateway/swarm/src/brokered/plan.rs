//! What a seed draws for the broker, besides what it draws for the rest.

use std::time::Duration;

use smbd_broker::broker::{Quotas, Settings};
use smbd_broker::wire::Limits;

use super::owner::SLOTS_MIN;
use crate::plan::Plan as Rest;
use smbd_testkit::Chance;
use smbd_testkit::host::Manner;

/// Tells the broker's stream of chance from others of the seed.
const SALT: u64 = 0x6272_6f6b_6572_0000;

#[derive(Clone, Debug)]
pub struct Plan {
    pub settings: Settings,
    pub sockets: Manner,
    /// There is not memory for all slots that a transfer may need.
    pub is_short: bool,
    /// The broker is killed then.
    pub dies: Option<Duration>,
}

impl Plan {
    pub fn of(seed: u64, rest: &Rest) -> Self {
        let mut chance = Chance::new(seed ^ SALT);
        let chance = &mut chance;
        let defaults = Settings::default();
        // A transfer is as long as a buffer at most.
        let is_short = !rest.is_gentle && rest.relay.buffer_len > 1000 && chance.one_in(2);
        let slot_len = if is_short { 64 } else { chance.pick(&[64, 200, 500, 1024, 4096]) };
        let needed = rest.relay.buffer_len.div_ceil(slot_len) as u16;
        let slots_max = (needed + chance.below(12) as u16).clamp(SLOTS_MIN, 70);
        let slots = if is_short { SLOTS_MIN } else { slots_max };
        let limits = Limits {
            slot_len,
            slots_max,
            sends_max: chance.pick(&[1, 2, 8, 64]),
            send_bytes_max: chance.pick(&[200_000, 400_000]),
            receive_bytes_max: chance.pick(&[1, 1000, 10_000, 400_000]),
            transfers_max: chance.pick(&[1, 2, 8]),
        };
        let quotas = Quotas { memory_max: u64::from(slots) * u64::from(slot_len), ..defaults.quotas };
        let sockets = Manner {
            capacity: chance.pick(&[1, 2, 8, 64]),
            late: Duration::from_micros(chance.size(0, 200) as u64),
        };
        let dies = (!rest.is_gentle && chance.one_in(8))
            .then(|| Duration::from_micros(chance.size(0, 20_000) as u64));
        Self { settings: Settings { limits, quotas, params: defaults.params }, sockets, is_short, dies }
    }
}
