use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

use super::*;
use crate::{AccessFault, Breach};

const OURS: DomainId = DomainId(1);
const OTHERS: DomainId = DomainId(2);

fn registered(kind: Kind, access: Access) -> (Buffers, Tokens, Buffer, BufferDescriptorV1) {
    let mut buffers = Buffers::new(true);
    let mut tokens = Tokens::new(Token(0x1A00_BC56));
    let buffer = buffers.alloc_at(0xABCD_E012, 1000).expect("the address is free");
    let range = Range { buffer, offset: 0, len: 1000 };
    let descriptor = tokens.enable(&buffers, OURS, kind, access, range).expect("the buffer is live");
    (buffers, tokens, buffer, descriptor)
}

#[test]
fn the_first_tokens_are_those_of_the_examples() {
    let (buffers, mut tokens, buffer, first) = registered(Kind::Window, Access::Read);
    assert_eq!((first.offset, first.token, first.length), (0xABCD_E012, Token(0x1A00_BC56), 1000));
    tokens.invalidate(OURS, first.token).expect("it is valid");
    let range = Range { buffer, offset: 0, len: 1000 };
    let again = tokens.enable(&buffers, OURS, Kind::Window, Access::Write, range).expect("live");
    assert_eq!(again.token, Token(0x1A00_BC57), "the same window bound again has the next key");
}

#[test]
fn access_is_checked_for_token_domain_right_and_bounds() {
    let (mut buffers, mut tokens, buffer, d) = registered(Kind::Region, Access::Read);
    let check = |tokens: &Tokens, buffers: &Buffers, domain, verb, offset, token, length| {
        tokens.check(buffers, domain, verb, BufferDescriptorV1 { offset, token, length })
    };
    let read = RdmaVerb::Read;
    let inside = check(&tokens, &buffers, OURS, read, d.offset + 999, d.token, 1);
    assert_eq!(inside, Ok(Range { buffer, offset: 999, len: 1 }));
    let cases = [
        (OTHERS, read, d.offset, d.token, 1, AccessFault::ForeignDomain),
        (OURS, RdmaVerb::Write, d.offset, d.token, 1, AccessFault::NoRight(RdmaVerb::Write)),
        (OURS, read, d.offset + 999, d.token, 2, AccessFault::OutOfBounds),
        (OURS, read, d.offset - 1, d.token, 2, AccessFault::OutOfBounds),
        (OURS, read, u64::MAX, d.token, u32::MAX, AccessFault::OutOfBounds),
        (OURS, read, d.offset, Token(d.token.0 + 1), 1, AccessFault::Dead),
        (OURS, read, d.offset, Token(d.token.0 + 256), 1, AccessFault::Unknown),
    ];
    for (domain, verb, offset, token, len, fault) in cases {
        assert_eq!(check(&tokens, &buffers, domain, verb, offset, token, len), Err(fault));
    }
    tokens.disable(OURS, d.token).expect("it is valid");
    assert_eq!(check(&tokens, &buffers, OURS, read, d.offset, d.token, 1), Err(AccessFault::Dead));
    buffers.free(buffer);
    assert!(buffers.breaches.is_empty());
}

#[test]
fn a_token_never_comes_twice_unless_asked_for() {
    let (buffers, mut tokens, buffer, first) = registered(Kind::Window, Access::Read);
    let range = Range { buffer, offset: 0, len: 1 };
    let mut seen = std::collections::BTreeSet::from([first.token]);
    let mut last = first.token;
    for _ in 0..1000 {
        tokens.invalidate(OURS, last).expect("it is valid");
        last = tokens.enable(&buffers, OURS, Kind::Window, Access::Read, range).expect("live").token;
        assert!(seen.insert(last), "{last} came twice");
    }
    let mut tokens = Tokens::new(Token(0));
    tokens.reuse(true);
    let mut last = Token(0);
    for _ in 0..257 {
        last = tokens.enable(&buffers, OURS, Kind::Window, Access::Read, range).expect("live").token;
        tokens.invalidate(OURS, last).expect("it is valid");
    }
    assert_eq!(last, Token(0), "as real hardware does after 256 binds");
}

#[test]
fn a_region_cannot_be_invalidated_and_a_window_only_once() {
    let (_, mut tokens, _, d) = registered(Kind::Region, Access::Read);
    assert_eq!(tokens.invalidate(OURS, d.token), Err(AccessFault::NoWindow));
    let (_, mut tokens, buffer, d) = registered(Kind::Window, Access::Read);
    assert_eq!(tokens.invalidate(OURS, d.token), Ok(buffer));
    assert_eq!(tokens.invalidate(OURS, d.token), Err(AccessFault::Dead));
}

#[test]
fn memory_in_use_may_be_neither_written_nor_freed_and_freed_memory_not_used() {
    let mut buffers = Buffers::new(true);
    let buffer = buffers.alloc_with(b"abc");
    let index = buffer.index();
    buffers.hold(buffer, Hold::Read);
    assert_eq!(buffers.bytes_mut(buffer), b"abc");
    buffers.free(buffer);
    assert_eq!(buffers.bytes_mut(buffer), b"");
    let other = buffers.alloc(1);
    assert_ne!(other, buffer, "the place is used again with another generation");
    buffers.free(buffer);
    let written = Breach::InUse { buffer: index, what: "written" };
    let freed = Breach::InUse { buffer: index, what: "freed" };
    let after = Breach::UseAfterFree { buffer: index };
    assert_eq!(buffers.breaches.first(), [written, freed, after, after]);
}

#[test]
fn buffers_cannot_be_placed_over_each_other() {
    let mut buffers = Buffers::new(false);
    buffers.alloc_at(0x1000, 0x100).expect("free");
    assert_eq!(buffers.alloc_at(0x10FF, 1), None);
    assert_eq!(buffers.alloc_at(u64::MAX, 2), None);
    assert!(buffers.alloc_at(0x1100, 1).is_some());
    let next = buffers.alloc(1);
    assert!(buffers.address(next) >= 0x1101);
}
