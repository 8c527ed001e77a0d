//! Large transfers: the most bytes, descriptors and areas that there may be.

use smbd_broker::wire::AREAS_MAX;
use smbd_core::{BufferDescriptorV1, Config, Params};
use smbd_sim::swarm;

use crate::words::{Kind, Request};
use smbd_testkit::Chance;

/// Bytes of a transfer that is large.
pub const LEN: u32 = 8 << 20;
/// One run of so many has some.
const ONE_IN: usize = 80;
/// Tells this stream of chance from others of the seed.
const SALT: u64 = 0x6c61_7267_6500_0000;
/// The shortest RDMA request of a device: with less, one transfer would be most of a run.
const REQUEST_MIN: u32 = 20_000;

/// How large transfers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Large {
    /// That name the client's memory.
    pub descriptors: usize,
    pub slot_len: u32,
}

impl Large {
    /// Those of a seed, if it has some.
    pub fn of(seed: u64) -> Option<Self> {
        let mut chance = Chance::new(seed ^ SALT);
        // With slots that short, a transfer has as many areas as it can have.
        let least = LEN.div_ceil(AREAS_MAX as u32);
        chance.one_in(ONE_IN).then(|| Self {
            descriptors: chance.pick(&[31, 4095]),
            slot_len: chance.pick(&[1 << 20, 1 << 20, least, least + 9000]),
        })
    }

    /// What else is drawn for a run of a seed that has some.
    pub fn chance(seed: u64) -> Chance {
        Chance::new(seed ^ SALT ^ 1)
    }

    /// Slots of a transfer, at least.
    pub const fn slots(self) -> u16 {
        LEN.div_ceil(self.slot_len) as u16
    }

    /// What a client asks for, and whether it is large.
    pub fn kind(self, chance: &mut Chance) -> (Kind, bool) {
        let kind = chance.pick(&[Kind::Echo, Kind::Read, Kind::Read, Kind::Write, Kind::Write]);
        (kind, kind != Kind::Echo && !chance.one_in(4))
    }

    /// Where a transfer begins in what the descriptors name: in the middle of one of them, mostly.
    pub fn offset(self, chance: &mut Chance) -> u32 {
        let most = chance.pick(&[0, 60, 60_000, 1_000_000]);
        chance.size(0, most) as u32
    }
}

/// Devices that can register so much, and move it in requests that are not all tiny.
pub fn adapt(sim: &mut swarm::Plan) {
    let [own, _] = &mut sim.configs;
    if let Ok(config) = Config::try_from(Params { max_read_write_size: LEN, ..(**own).clone() }) {
        *own = config;
    }
    for nic in &mut sim.nics {
        nic.rdma_len_max = nic.rdma_len_max.max(REQUEST_MIN);
        nic.segment_len_max = nic.segment_len_max.max(LEN / 3);
    }
}

/// Names segments by so many descriptors, all of other lengths.
pub fn cut(segments: Vec<BufferDescriptorV1>, count: usize, chance: &mut Chance) -> Vec<BufferDescriptorV1> {
    let mut pieces = Vec::with_capacity(count);
    let mut left: u64 = segments.iter().map(|segment| u64::from(segment.length)).sum();
    for (at, mut rest) in segments.iter().copied().enumerate() {
        let behind = segments.len() - at - 1;
        let of_all = (count - pieces.len() - behind) as u64;
        let parts = if behind == 0 { of_all } else { (of_all * u64::from(rest.length) / left).max(1) };
        left -= u64::from(rest.length);
        for parts_left in (2..=parts).rev() {
            let mean = u64::from(rest.length) / parts_left;
            let length = chance.size(1, (2 * mean - 1) as usize) as u32;
            pieces.push(BufferDescriptorV1 { length, ..rest });
            rest.offset += u64::from(length);
            rest.length -= length;
        }
        pieces.push(rest);
    }
    pieces
}

/// What the transfer of a request is called that is large.
pub fn form(request: &Request) -> Option<&'static str> {
    match (request.len, request.remote.len()) {
        (LEN, 31) => Some("transfers of 8 MiB with 31 descriptors"),
        (LEN, 4095) => Some("transfers of 8 MiB with 4095 descriptors"),
        _ => None,
    }
}
