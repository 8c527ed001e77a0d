//! What the device, and with it the peer, is told of buffers.

use super::*;
use crate::ffi::fake_memory::{Registered, domain, known};

/// `IBV_ACCESS_LOCAL_WRITE` and `IBV_ACCESS_REMOTE_WRITE`.
const LOCAL_WRITE: u32 = 1;
const REMOTE_WRITE: u32 = 2;
/// `IBV_ACCESS_MW_BIND`.
const BIND: u32 = 16;

/// Regions of a domain, a buffer, and what a region of its bytes from `offset` on is.
fn regions(windows: bool) -> (Regions, Buffer, impl Fn(u64, usize, u32, u32) -> Registered) {
    let (domain, number) = domain();
    let regions = Regions::new(domain, windows);
    let buffer = Buffer::new(10_000).unwrap();
    let whole = MemoryRegion::register(&regions.domain, &buffer, Rights::default()).unwrap();
    let start = whole.addr();
    let region = move |offset: u64, len, access, key| Registered {
        domain: number,
        addr: start + offset,
        len,
        access,
        key,
    };
    (regions, buffer, region)
}

#[test]
fn a_read_sink_is_the_bytes_that_are_read_for_the_peer_to_write_in_the_domain_of_its_connection() {
    let _other = regions(false);
    for windows in [false, true] {
        let (mut regions, buffer, region) = regions(windows);
        for (offset, len) in [(4100, 300), (0, 1), (9999, 1), (0, 10_000)] {
            let sink = regions.sink(&buffer, offset, len).unwrap();
            let access = LOCAL_WRITE | REMOTE_WRITE;
            assert_eq!(known(), [region(offset.into(), len as usize, access, sink.rkey())]);
            drop(sink);
            assert_eq!(known(), [], "{len} bytes from {offset} on");
        }
    }
}

#[test]
fn sinks_of_one_buffer_are_apart_from_each_other_and_from_what_is_the_devices_own() {
    let (mut regions, buffer, region) = regions(true);
    let own = regions.local(&buffer).unwrap().rkey();
    let sinks: Vec<_> = [(0, 100), (100, 50), (100, 50)]
        .into_iter()
        .map(|(offset, len)| regions.sink(&buffer, offset, len).unwrap())
        .collect();
    assert_eq!(known().len(), 4);
    assert_eq!(known()[0], region(0, 10_000, LOCAL_WRITE | BIND, own));
    for sink in sinks {
        let key = sink.rkey();
        assert!(known().iter().any(|region| region.key == key));
        drop(sink);
        assert!(known().iter().all(|region| region.key != key));
    }
    assert_eq!(known(), [region(0, 10_000, LOCAL_WRITE | BIND, own)]);
    assert_eq!(regions.local(&buffer).unwrap().rkey(), own, "it was not made again");
    drop(regions);
    assert_eq!(known(), []);
}

#[test]
fn a_read_beyond_its_buffer_opens_nothing() {
    let (mut regions, buffer, _) = regions(false);
    for (offset, len) in [(9999, 2), (10_000, 1), (u32::MAX, 2), (0, 10_001)] {
        assert_eq!(
            regions.sink(&buffer, offset, len).map(drop).map_err(|refused| refused.0),
            Err(libc::EINVAL)
        );
    }
    assert_eq!(known(), []);
}
