//! Every parser of section 2 and the IRD/ORD header.

use smbd_core::Head;
use smbd_core::wire::ird_ord::View;
use smbd_core::wire::{
    BufferDescriptorV1, BufferDescriptors, ByteOrder, DataTransfer, DataTransferView, IrdOrd,
    NegotiateRequest, NegotiateRequestView, NegotiateResponse, NegotiateResponseView, WireError,
    data_transfer, encode_all, ird_ord, negotiate_request, negotiate_response,
};

/// A value, or an error that says so; and the value is written as it was read, with zeros where nothing is defined.
pub fn wire(data: &[u8]) {
    request(data);
    response(data);
    data_message(data);
    descriptors(data);
    read_depths(data);
    let head = Head::of(data);
    assert_eq!(head.as_bytes(), &data[..data.len().min(Head::MAX)]);
}

/// What too few bytes are told is what is there and what is needed.
fn told(error: WireError, len: usize, needed: usize) {
    assert!(len < needed, "{len} bytes are enough: {error}");
    let WireError::Truncated { field, offset, needed, got } = error else { panic!("{error}") };
    assert_eq!(got, len);
    // The first field that is not there, in its place.
    assert!(offset <= len && offset + needed > len && field.range.len() == needed, "{error}");
}

fn request(data: &[u8]) {
    let message = match NegotiateRequest::parse(data) {
        Ok(message) => message,
        Err(error) => return told(error, data.len(), NegotiateRequest::LEN),
    };
    let mut expected = data[..NegotiateRequest::LEN].to_vec();
    expected[negotiate_request::field::RESERVED].fill(0);
    let mut out = [0xEE; NegotiateRequest::LEN];
    assert_eq!(message.encode(&mut out), Ok(out.len()));
    assert_eq!(out.as_slice(), expected);
    let view = NegotiateRequestView::new(data).expect("parsed a moment ago");
    assert_eq!(NegotiateRequest::from(view), message);
    message.encode(&mut [0; NegotiateRequest::LEN - 1]).expect_err("one byte too few");
}

fn response(data: &[u8]) {
    let message = match NegotiateResponse::parse(data) {
        Ok(message) => message,
        Err(error) => return told(error, data.len(), NegotiateResponse::LEN),
    };
    let mut expected = data[..NegotiateResponse::LEN].to_vec();
    expected[negotiate_response::field::RESERVED].fill(0);
    let mut out = [0xEE; NegotiateResponse::LEN];
    assert_eq!(message.encode(&mut out), Ok(out.len()));
    assert_eq!(out.as_slice(), expected);
    let view = NegotiateResponseView::new(data).expect("parsed a moment ago");
    assert_eq!(NegotiateResponse::from(view), message);
    assert_eq!(message.status.is_success(), out[12..16] == [0; 4]);
    let _ = message.status.to_string();
}

fn data_message(data: &[u8]) {
    let header = match DataTransfer::parse(data) {
        Ok(header) => header,
        Err(error) => return told(error, data.len(), DataTransfer::LEN),
    };
    let mut expected = data[..DataTransfer::LEN].to_vec();
    expected[data_transfer::field::RESERVED].fill(0);
    expected.resize(header.encoded_len(), 0);
    let mut out = [0xEE; smbd_core::wire::HEADER_LEN_PADDED];
    let len = header.encode(&mut out).expect("there is room for the longest");
    assert_eq!(&out[..len], expected);
    let view = DataTransferView::new(data).expect("parsed a moment ago");
    assert_eq!(DataTransfer::from(view), header);
    // Bits are known or unknown, and none is lost.
    assert_eq!(header.flags.unknown() & smbd_core::wire::Flags::RESPONSE_REQUESTED.0, 0);
}

fn descriptors(data: &[u8]) {
    let array = match BufferDescriptors::new(data) {
        Ok(array) => array,
        Err(error) => {
            assert_ne!(data.len() % BufferDescriptorV1::LEN, 0, "{error}");
            return;
        }
    };
    let values: Vec<_> = array.iter().collect();
    assert_eq!(values.len(), array.len());
    assert_eq!(array.get(array.len()), None);
    for (at, value) in values.iter().enumerate() {
        assert_eq!(array.get(at), Some(*value));
        assert_eq!(BufferDescriptorV1::parse(&data[at * BufferDescriptorV1::LEN..]), Ok(*value));
    }
    assert!(values.iter().rev().eq(array.iter().rev().collect::<Vec<_>>().iter()));
    let mut out = vec![0xEE; data.len()];
    assert_eq!(encode_all(&values, &mut out), Ok(data.len()));
    assert_eq!(out, data);
}

fn read_depths(data: &[u8]) {
    let (told_by_peer, order) = match IrdOrd::parse(data) {
        Ok(parsed) => parsed,
        Err(WireError::Zero { .. }) => return assert!(data[..4] == [0; 4] || data[4..8] == [0; 4]),
        Err(error) => return told(error, data.len(), IrdOrd::LEN),
    };
    let mut out = [0xEE; IrdOrd::LEN];
    assert_eq!(told_by_peer.encode(&mut out), Ok(out.len()));
    let mut expected = data[..IrdOrd::LEN].to_vec();
    if order == ByteOrder::LegacyLittle {
        expected.chunks_mut(4).for_each(<[u8]>::reverse);
    }
    assert_eq!(out.as_slice(), expected);
    let Ok((local, _)) = IrdOrd::parse(&data[IrdOrd::LEN..]) else { return };
    // A requester with the first depths, an acceptor with the second: neither issues more reads than the other serves.
    let request = ird_ord::offer(told_by_peer);
    for view in [View::Sender, View::Requester] {
        let Ok(answer) = ird_ord::answer(local, request, view) else { continue };
        let acceptor = ird_ord::settle(local, request).expect("there is an answer");
        let requester = ird_ord::adopt(told_by_peer, answer, view).expect("the acceptor found depths");
        assert!(
            requester.ord <= acceptor.ird && acceptor.ord <= requester.ird,
            "{requester:?}, {acceptor:?}"
        );
        assert!(requester.ord <= told_by_peer.ord && acceptor.ord <= local.ord);
    }
}
