//! What is built is read again.

use proptest::prelude::*;
use smbd_smb2::wire::*;

use crate::samples::{Pool, each_request, each_response};

pub fn pools() -> impl Strategy<Value = Pool> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    (any::<[u64; 4]>(), bytes(), bytes(), ".{0,40}").prop_map(|(numbers, bytes, others, text)| Pool {
        numbers,
        bytes,
        others,
        text,
    })
}

fn built(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).expect("no part is too long");
    message
}

proptest! {
    #[test]
    fn every_request_that_is_built_is_read_again(pool in pools()) {
        each_request(&pool, |request| {
            let header = pool.header(request.command(), false, NtStatus(7));
            let message = built(&header, &request);
            assert_eq!(Header::parse(&message), Ok(header));
            assert_eq!(Request::parse(&message), Ok(request));
        });
    }

    #[test]
    fn every_response_that_is_built_is_read_again(pool in pools()) {
        each_response(&pool, |command, status, response| {
            let header = pool.header(command, true, status);
            let message = built(&header, &response);
            assert_eq!(Header::parse(&message), Ok(header));
            assert_eq!(Response::parse(&message), Ok(response), "{command} {status}");
        });
    }

    #[test]
    fn the_file_id_of_a_request_is_where_its_field_says(pool in pools()) {
        each_request(&pool, |request| {
            let mut message = built(&pool.header(request.command(), false, NtStatus::SUCCESS), &request);
            let field = Request::file_id_field(&message).expect("sound");
            assert_eq!(field.map(|field| field.get(&message).expect("sound")), request.file_id());
            let Some(field) = field else { return };
            let other = FileId { persistent: 0x1122, volatile: 0x3344 };
            field.set(&mut message, other).expect("room");
            assert_eq!(Request::parse(&message).expect("sound").file_id(), Some(other));
        });
    }

    #[test]
    fn all_messages_of_a_compound_are_read_again(pool in pools()) {
        let mut message = vec![0xEE; 3];
        let mut compound = Compound::new(&mut message);
        let mut count = 0;
        each_request(&pool, |request| {
            compound.add(&pool.header(request.command(), false, NtStatus::SUCCESS), &request).expect("room");
            count += 1;
        });
        let message = &message[3..];
        let elements: Vec<_> = Elements::new(message).map(|element| element.expect("sound")).collect();
        prop_assert_eq!(elements.len(), count);
        for element in &elements {
            prop_assert_eq!(element.offset % 8, 0);
            prop_assert_eq!(&message[element.range()], element.bytes);
        }
        let mut elements = elements.iter();
        each_request(&pool, |request| {
            let element = elements.next().expect("one for each");
            assert_eq!(element.header.command, request.command());
            // What has no length of its own ends with the padding.
            let is_tail = matches!(request, Request::Other(..))
                || matches!(request, Request::TreeConnect(TreeConnectRequest { extension: Some(_), .. }));
            assert!(is_tail || Request::parse(element.bytes) == Ok(request));
        });
    }

    #[test]
    fn every_transform_and_compression_that_is_built_is_read_again(pool in pools()) {
        let numbers = pool.numbers;
        let transform = Transform {
            signature: u128::from(numbers[0]).to_le_bytes(),
            nonce: u128::from(numbers[1]).to_le_bytes(),
            original_message_size: numbers[2] as u32,
            flags: TransformFlags(numbers[2] as u16),
            session_id: SessionId(numbers[3]),
            encrypted: &pool.bytes,
        };
        let mut message = Vec::new();
        transform.write(&mut message).expect("room");
        prop_assert_eq!(Transform::parse(&message), Ok(transform));

        let payloads = [
            Payload {
                algorithm: CompressionAlgorithm::NONE,
                flag: CompressionFlag::CHAINED,
                original_size: None,
                data: &pool.bytes,
            },
            Payload {
                algorithm: CompressionAlgorithm::LZ77,
                flag: CompressionFlag::NONE,
                original_size: Some(numbers[0] as u32),
                data: &pool.others,
            },
        ];
        let unchained = CompressedParts::Unchained {
            algorithm: CompressionAlgorithm::LZ4,
            flag: CompressionFlag(numbers[2] as u16 & !1),
            plain: &pool.bytes,
            compressed: &pool.others,
        };
        for parts in [unchained, CompressedParts::Chained(Records::from(&payloads))] {
            let compressed = Compressed { original_size: numbers[1] as u32, parts };
            let mut message = Vec::new();
            compressed.write(&mut message).expect("room");
            prop_assert_eq!(Compressed::parse(&message), Ok(compressed));
        }
    }
}

#[test]
fn the_dialects_of_smb1_are_read_as_they_were_written() {
    let names: [&[u8]; 3] = [b"NT LM 0.12", Smb1Negotiate::SMB_2_002, b""];
    let mut message = Vec::new();
    Smb1Negotiate::write(&mut message, &names).expect("room");
    let Ok(Message::Smb1Negotiate(negotiate)) = Message::parse(&message) else { panic!("not told") };
    assert!(negotiate.dialects().eq(names));
    assert!(negotiate.offers_smb2());
    let mut message = Vec::new();
    Smb1Negotiate::write(&mut message, &names[..1]).expect("room");
    assert!(!Smb1Negotiate::parse(&message).expect("sound").offers_smb2());
}

#[test]
fn the_interfaces_of_a_server_are_read_as_they_were_written_and_their_addresses_are_big_endian() {
    let interface = NetworkInterface {
        index: 7,
        capabilities: InterfaceCapabilities::RDMA_CAPABLE,
        link_speed: 100_000_000_000,
        address: Some("10.0.0.1".parse().unwrap()),
    };
    let v6 = NetworkInterface { address: Some("2001:db8::2".parse().unwrap()), ..interface };
    let unknown = NetworkInterface { address: None, ..interface };
    let all = [interface, v6, unknown];
    let mut bytes = Vec::new();
    NetworkInterfaces::from(&all).write(&mut bytes).unwrap();
    assert_eq!((bytes.len(), bytes[0], &bytes[24..32]), (3 * 152, 152, &[2, 0, 0, 0, 10, 0, 0, 1][..]));
    assert_eq!(bytes[152 + 24..][..12], [0x17, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8]);
    let read: Result<Vec<_>, _> = NetworkInterfaces::from(&bytes[..]).iter().collect();
    assert_eq!(read, Ok(all.to_vec()));
    // Some servers let the last one point to the end.
    bytes[304] = 152;
    let read: Result<Vec<_>, _> = NetworkInterfaces::from(&bytes[..]).iter().collect();
    assert_eq!(read, Ok(all.to_vec()));
    // The last is not complete, or the first points into itself.
    assert!(NetworkInterfaces::from(&bytes[..455]).iter().last().unwrap().is_err());
    bytes[0] = 144;
    let first = NetworkInterfaces::from(&bytes[..]).iter().next().unwrap();
    assert!(matches!(first, Err(WireError::Inside { value: 144, first: 152, .. })), "{first:?}");
}
