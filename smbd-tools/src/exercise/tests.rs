//! The codec: every request and answer comes back as it was, and nothing harms the reader.

use proptest::collection::vec;
use proptest::prelude::*;
use smbd_core::{Access, BufferDescriptorV1, Token};

use super::*;

fn descriptors() -> impl Strategy<Value = Vec<BufferDescriptorV1>> {
    let one = (any::<u64>(), any::<u32>(), any::<u32>());
    vec(
        one.prop_map(|(offset, token, length)| BufferDescriptorV1 { offset, token: Token(token), length }),
        0..9,
    )
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::ReadWrite)]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(Request::Hello),
        any::<bool>().prop_map(|hash| Request::Count { hash }),
        Just(Request::Report),
        any::<(u32, u32, u64)>().prop_map(|(messages, size, seed)| Request::Source { messages, size, seed }),
        (any::<u32>(), access(), any::<u64>()).prop_map(|(length, access, seed)| Request::Offer {
            length,
            access,
            seed
        }),
        any::<(u32, u32, u32)>().prop_map(|(id, offset, length)| Request::Hash { id, offset, length }),
        any::<u32>().prop_map(|id| Request::Withdraw { id }),
        (any::<(u64, u32)>(), descriptors()).prop_map(|((offset, length), descriptors)| Request::Read {
            offset,
            length,
            descriptors: descriptors.into()
        }),
        (any::<(u64, u64, u32, Option<u32>)>(), descriptors()).prop_map(
            |((seed, offset, length, token), descriptors)| Request::Write {
                seed,
                offset,
                length,
                invalidate: token.map(Token),
                descriptors: descriptors.into()
            }
        ),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let limits = any::<(u32, u32, u64, u32, u64)>().prop_map(
        |(message, buffer, buffers, backlog_messages, backlog)| Limits {
            message,
            buffer,
            buffers,
            backlog_messages,
            backlog,
        },
    );
    let status = prop_oneof![
        Just(Status::Malformed),
        Just(Status::TooLarge),
        Just(Status::NoRoom),
        Just(Status::NotFound),
        Just(Status::Refused),
        Just(Status::Failed),
        (1000_u16..).prop_map(Status::Other)
    ];
    prop_oneof![
        limits.prop_map(Answer::Hello),
        Just(Answer::Done),
        any::<(u64, u64, u64)>().prop_map(|(messages, bytes, hash)| Answer::Report(Report {
            messages,
            bytes,
            hash
        })),
        (any::<u32>(), descriptors()).prop_map(|(id, descriptors)| Answer::Offered { id, descriptors }),
        any::<u64>().prop_map(Answer::Hash),
        (status, ".{0,40}").prop_map(|(status, text)| Answer::failed(status, text)),
    ]
}

proptest! {
    #[test]
    fn requests_come_back_as_they_were(what in request(), tag: u32) {
        let bytes = what.encode(tag);
        prop_assert_eq!(Request::parse(&bytes), Ok(Some(Tagged { tag, what })));
        prop_assert!(Answer::parse(&bytes).is_err(), "an echoed request is told from an answer");
    }

    #[test]
    fn answers_come_back_as_they_were(what in answer(), tag: u32) {
        let bytes = what.encode(tag);
        prop_assert_eq!(Answer::parse(&bytes), Ok(Some(Tagged { tag, what })));
        prop_assert_eq!(Request::parse(&bytes), Ok(None), "nobody answers an answer");
    }

    #[test]
    fn what_is_cut_or_damaged_is_read_without_harm(
        (request, answer) in (request(), answer()),
        cut: prop::sample::Index,
        at: prop::sample::Index,
        byte: u8,
    ) {
        for whole in [request.encode(1), answer.encode(1)] {
            let mut bytes = whole.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for bytes in [&bytes[..cut.index(bytes.len())], &bytes, &whole[..cut.index(whole.len())]] {
                _ = Request::parse(bytes);
                _ = Answer::parse(bytes);
            }
        }
    }

    #[test]
    fn any_body_is_read_without_harm(body in vec(any::<u8>(), 0..100), kind: u16) {
        let bytes = [MAGIC.as_slice(), &kind.to_le_bytes(), &body].concat();
        _ = Request::parse(&bytes);
        _ = Answer::parse(&bytes);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let cut =
        |request: &Request, len: usize| Request::parse(&request.encode(9)[..len]).unwrap_err().to_string();
    assert_eq!(cut(&Request::Hello, 12), "the header is cut short (kind 0x0000, 12 bytes)");
    assert_eq!(cut(&Request::Withdraw { id: 1 }, 19), "the body is cut short (kind 0x0007, 19 bytes)");
    let descriptors = [BufferDescriptorV1 { offset: 0, token: Token(1), length: 1 }].into();
    let read = Request::Read { offset: 0, length: 1, descriptors };
    assert_eq!(cut(&read, 43), "the last descriptor is cut short (kind 0x0008, 43 bytes)");
    let longer = [Request::Hello.encode(9).as_ref(), b"x"].concat();
    assert_eq!(
        Request::parse(&longer).unwrap_err().to_string(),
        "bytes behind the body (kind 0x0001, 17 bytes)"
    );
    assert_eq!(Request::parse(b"SMBDexr"), Ok(None), "an ordinary message may begin almost like that");
}
