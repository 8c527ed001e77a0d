//! Whatever a client sends, the server goes on or ends the connection; it holds no more than it may and gives all back.

use proptest::collection::vec;
use proptest::prelude::*;
use smbd_core::{Access, BufferDescriptorV1, Params, Token};
use smbd_sim::nic::Personality;
use smbd_tools::exercise::{Limits, MAGIC, Request};

use super::pair::Pair;

const LIMITS: Limits =
    Limits { message: 20_000, buffer: 10_000, buffers: 25_000, backlog_messages: 64, backlog: 200_000 };

/// Requests of all kinds, small and large, about memory that is there and that is not.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let size = || prop_oneof![Just(0), 1..30_u32, 9_990..10_010_u32, any::<u32>()];
    let id = || 0..5_u32;
    let descriptors = vec((0..9000_u64, size()), 0..4).prop_map(|pieces| {
        pieces
            .into_iter()
            .map(|(offset, length)| BufferDescriptorV1 { offset, token: Token(7), length })
            .collect::<Vec<_>>()
    });
    let access = prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::ReadWrite)];
    prop_oneof![
        4 => vec(any::<u8>(), 1..3000),
        1 => any::<bool>().prop_map(|hash| Request::Count { hash }.encode(1).to_vec()),
        1 => Just(Request::Report.encode(1).to_vec()),
        1 => (0..40_u32, size())
            .prop_map(|(messages, size)| Request::Source { messages, size, seed: 1 }.encode(1).to_vec()),
        2 => (size(), access)
            .prop_map(|(length, access)| Request::Offer { length, access, seed: 1 }.encode(1).to_vec()),
        1 => (id(), size(), size())
            .prop_map(|(id, offset, length)| Request::Hash { id, offset, length }.encode(1).to_vec()),
        2 => id().prop_map(|id| Request::Withdraw { id }.encode(1).to_vec()),
        1 => (size(), size(), descriptors).prop_map(|(offset, length, descriptors)| {
            let (offset, descriptors) = (offset.into(), descriptors.into());
            Request::Read { offset, length, descriptors }.encode(1).to_vec()
        }),
        1 => (any::<u16>(), vec(any::<u8>(), 0..60))
            .prop_map(|(kind, body)| [MAGIC.as_slice(), &kind.to_le_bytes(), &body].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_requests_leave_the_server_within_its_limits(
        requests in vec(request(), 1..40),
        iwarp in any::<bool>(),
    ) {
        let personality = if iwarp { Personality::Iwarp } else { Personality::Roce };
        let mut pair = Pair::with(personality, LIMITS, Params { keepalive: None, ..Params::example() });
        for bytes in requests {
            if !pair.try_send(bytes.into()) {
                break;
            }
            prop_assert!(pair.server.buffer_bytes() <= LIMITS.buffers);
            prop_assert!(pair.server.stats().backlog_max <= LIMITS.backlog);
        }
        pair.finish();
        prop_assert!(pair.server.stats().backlog_max <= LIMITS.backlog);
        prop_assert_eq!(pair.server.buffer_bytes(), 0);
    }
}
