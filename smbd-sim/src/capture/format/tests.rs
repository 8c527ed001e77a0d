use proptest::prelude::*;

use super::bth::{Aeth, Bth, Deth, Reth};
use super::cm::{CmKind, CmMessage, Reply, Request};
use super::mpa::{MpaFrame, crc_is_right, encode_fpdu, fpdu_len, ulpdu_max};
use super::rdmap::{Placement, ReadRequest, Segment};

fn bth() -> impl Strategy<Value = Bth> {
    (any::<[u8; 4]>(), any::<[bool; 3]>(), any::<u16>(), any::<u32>()).prop_map(|(b, flags, pkey, word)| {
        Bth {
            opcode: b[0],
            solicited: flags[0],
            migrated: flags[1],
            pad: b[1] & 3,
            version: b[2] & 0xf,
            pkey,
            dest_qpn: word & 0xff_ffff,
            ack_request: flags[2],
            psn: word >> 8,
        }
    })
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![
        (any::<u32>(), any::<u64>()).prop_map(|(stag, offset)| Placement::Tagged { stag, offset }),
        any::<[u32; 4]>().prop_map(|[invalidate, queue, message, offset]| Placement::Untagged {
            invalidate,
            queue,
            message,
            offset
        }),
    ]
}

fn cm_kind() -> impl Strategy<Value = CmKind> {
    let request = (any::<u64>(), any::<u32>(), 0_u32..5, any::<[u8; 2]>(), any::<u16>()).prop_map(
        |(service_id, word, mtu, [responder_resources, initiator_depth], source_port)| {
            CmKind::Request(Request {
                service_id,
                qpn: word & 0xff_ffff,
                starting_psn: word >> 8,
                responder_resources,
                initiator_depth,
                path_mtu: 256 << mtu,
                source_port,
            })
        },
    );
    let reply =
        (any::<u32>(), any::<[u8; 2]>()).prop_map(|(word, [responder_resources, initiator_depth])| {
            CmKind::Reply(Reply {
                qpn: word & 0xff_ffff,
                starting_psn: word >> 8,
                responder_resources,
                initiator_depth,
            })
        });
    prop_oneof![
        request,
        reply,
        Just(CmKind::ReadyToUse),
        any::<u16>().prop_map(|reason| CmKind::Reject { reason }),
        any::<u32>().prop_map(|word| CmKind::DisconnectRequest { qpn: word >> 8 }),
        Just(CmKind::DisconnectReply),
    ]
}

proptest! {
    #[test]
    fn roce_headers_survive_encoding(bth in bth(), address: u64, rkey: u32, length: u32, syndrome: u8) {
        let reth = Reth { address, rkey, length };
        let aeth = Aeth { syndrome, msn: rkey >> 8 };
        let deth = Deth { qkey: length, source_qpn: rkey >> 8 };
        let mut bytes = Vec::new();
        bth.encode(&mut bytes);
        reth.encode(&mut bytes);
        aeth.encode(&mut bytes);
        deth.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), 12 + 16 + 4 + 8);
        prop_assert_eq!(Bth::parse(&bytes).unwrap(), bth);
        prop_assert_eq!(Reth::parse(&bytes[12..]).unwrap(), reth);
        prop_assert_eq!(Aeth::parse(&bytes[28..]).unwrap(), aeth);
        prop_assert_eq!(Deth::parse(&bytes[32..]).unwrap(), deth);
        for len in 0..12 {
            prop_assert_eq!(Bth::parse(&bytes[..len]).unwrap_err().got, len);
        }
    }

    #[test]
    fn connection_management_survives_encoding(
        kind in cm_kind(),
        [local_id, remote] in any::<[u32; 2]>(),
        transaction: u64,
        private in prop::collection::vec(1_u8.., 0..56),
        ipv4: bool,
    ) {
        let remote_id = if matches!(kind, CmKind::Request(_)) { 0 } else { remote };
        let message = CmMessage { local_id, remote_id, transaction, kind, private_data: private.clone() };
        let mut gid = [7; 16];
        if ipv4 {
            gid[..12].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
        }
        let parsed = CmMessage::parse(&message.encode(&gid, &gid)).unwrap().unwrap();
        prop_assert_eq!(&parsed.private_data[..private.len()], private.as_slice());
        prop_assert!(parsed.private_data[private.len()..].iter().all(|byte| *byte == 0));
        prop_assert_eq!(CmMessage { private_data: private, ..parsed }, message);
    }

    #[test]
    fn iwarp_headers_survive_encoding(last: bool, opcode in 0_u8..8, placement in placement(), words: [u32; 3], longs: [u64; 2]) {
        let segment = Segment { last, opcode, placement };
        let request = ReadRequest {
            sink_stag: words[0],
            sink_offset: longs[0],
            length: words[1],
            source_stag: words[2],
            source_offset: longs[1],
        };
        let bytes = segment.encode(&request.encode());
        let (parsed, payload) = Segment::parse(&bytes).unwrap();
        prop_assert_eq!(parsed, segment);
        prop_assert_eq!(ReadRequest::parse(payload).unwrap(), request);
        for len in 0..Segment::TAGGED_LEN {
            prop_assert!(Segment::parse(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn mpa_frames_survive_encoding_and_ask_for_more_when_cut(
        flags: [bool; 5],
        revision: u8,
        private_data in prop::collection::vec(any::<u8>(), 0..=512),
    ) {
        let [reply, markers, crc, rejected, enhanced] = flags;
        let frame = MpaFrame { reply, markers, crc, rejected, enhanced, revision, private_data };
        let bytes = frame.encode();
        prop_assert_eq!(MpaFrame::parse(&bytes).unwrap(), Some((frame, bytes.len())));
        for len in 0..bytes.len() {
            prop_assert!(MpaFrame::parse(&bytes[..len]).is_err(), "{} bytes", len);
        }
    }

    #[test]
    fn an_fpdu_fits_its_segment_and_any_changed_bit_breaks_its_crc(
        ulpdu in prop::collection::vec(any::<u8>(), 0..300),
        bit in any::<prop::sample::Index>(),
        segment in 20_usize..66_000,
    ) {
        let mut fpdu = encode_fpdu(&ulpdu, true);
        prop_assert_eq!(fpdu.len(), fpdu_len(ulpdu.len()));
        prop_assert!(crc_is_right(&fpdu));
        let bit = bit.index(fpdu.len() * 8);
        fpdu[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!crc_is_right(&fpdu));
        prop_assert!(fpdu_len(ulpdu_max(segment)) <= segment);
        prop_assert!(fpdu_len(ulpdu_max(segment) + 1) > segment || ulpdu_max(segment) == 65_535);
    }
}

#[test]
fn other_bytes_are_no_mpa_frame() {
    assert_eq!(MpaFrame::parse(b"GET / HTTP/1.1").unwrap(), None);
    assert_eq!(MpaFrame::parse(b"MPA ID Red").unwrap(), None);
    let mut long = b"MPA ID Req Frame\0\x01\x02\x01".to_vec();
    long.resize(600, 0);
    assert_eq!(MpaFrame::parse(&long).unwrap(), None, "more private data than allowed");
}

#[test]
fn the_crc_of_mpa_is_that_of_iscsi() {
    // RFC 3720 B.4: the CRC of 32 zero bytes.
    assert_eq!(crc32c::crc32c(&[0; 32]).to_le_bytes(), [0xaa, 0x36, 0x91, 0x8a]);
}
