//! The required reaction to a message by 3.1.5.6 to 3.1.5.8, computed from its bytes and not from the state of the
//! subject.

use smbd_core::wire::{DATA_OFFSET, DataTransfer, NegotiateRequest, NegotiateResponse};

/// What has to become of a connection on which a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It ends, and no message comes any more. With the statement that says so.
    End(&'static str),
    /// It is refused with STATUS_NOT_SUPPORTED, and ends.
    Refusal,
    /// It goes on.
    Nothing,
    /// The text leaves it open, or the script has promised what it does not keep.
    Open,
}

const SHORT_REQUEST: &str = "3.1.5.6-02 +3.1.5.5-01";
const BAD_REQUEST: &str = "3.1.5.6-09 +3.1.5.5-01";
const BAD_RESPONSE: &str = "3.1.5.7-09 +3.1.5.5-02";
const BAD_DATA: &str = "3.1.5.8-07 +3.1.5.5-05";

const VERSION: u16 = 0x0100;
const RECEIVE_SIZE_MIN: u32 = 128;
const FRAGMENTED_SIZE_MIN: u32 = 131_072;
/// Note <5>: more than Windows takes.
const PREFERRED_MAX: u32 = 8136;

/// A first message to an acceptor, from a script with receives of so many bytes.
pub(super) fn by_acceptor(bytes: &[u8], receive_len: u32) -> Due {
    let Ok(request) = NegotiateRequest::parse(bytes) else { return Due::End(SHORT_REQUEST) };
    if !(request.min_version..=request.max_version).contains(&VERSION) {
        return Due::Refusal;
    }
    if request.credits_requested == 0
        || request.max_receive_size < RECEIVE_SIZE_MIN
        || request.max_fragmented_size < FRAGMENTED_SIZE_MIN
    {
        return Due::End(BAD_REQUEST);
    }
    // Note <4>. NE-3: 0 may be a preference or none.
    let is_open = request.min_version != request.max_version
        || !(1..=PREFERRED_MAX).contains(&request.preferred_send_size)
        || request.max_receive_size > receive_len;
    if is_open { Due::Open } else { Due::Nothing }
}

/// A first message to an initiator that takes so many bytes, from a script with so many receives of so many bytes.
pub(super) fn by_initiator(bytes: &[u8], takes: u32, (receives, receive_len): (u16, u32)) -> Due {
    let Ok(response) = NegotiateResponse::parse(bytes) else { return Due::End(BAD_RESPONSE) };
    if response.negotiated_version != VERSION
        || response.max_receive_size < RECEIVE_SIZE_MIN
        || response.max_fragmented_size < FRAGMENTED_SIZE_MIN
        || response.credits_granted == 0
        || response.credits_requested == 0
        || response.preferred_send_size > takes
        || !response.status.is_success()
    {
        return Due::End(BAD_RESPONSE);
    }
    // NE-3, as above.
    let is_open = response.preferred_send_size == 0
        || response.credits_granted > receives
        || response.max_receive_size > receive_len;
    if is_open { Due::Open } else { Due::Nothing }
}

/// The first message after negotiation, from a script that has granted all it has posted, to a subject that takes messages
/// of so many bytes and upper-layer messages of so many.
pub(super) fn by_established(bytes: &[u8], max_receive_size: u32, max_fragmented_size: u32) -> Due {
    let Ok(header) = DataTransfer::parse(bytes) else { return Due::End(BAD_DATA) };
    let (got, offset) = (bytes.len() as u64, header.data_offset);
    let (len, remaining) = (u64::from(header.data_length), u64::from(header.remaining_data_length));
    if header.credits_requested == 0
        || !offset.is_multiple_of(8)
        || u64::from(offset) + len > got
        || len + remaining > u64::from(max_fragmented_size)
    {
        return Due::End(BAD_DATA);
    }
    // RA-1: what follows a fragment decides. VA-3, VA-5.
    let is_open = remaining > 0
        || header.credits_granted > 0
        || (len > 0 && offset < DATA_OFFSET)
        || got > u64::from(max_receive_size);
    if is_open { Due::Open } else { Due::Nothing }
}

#[cfg(test)]
mod tests {
    use super::{BAD_DATA, BAD_REQUEST, BAD_RESPONSE, Due, SHORT_REQUEST};
    use crate::suite::{Data, Request, Response};
    use smbd_core::wire::NtStatus;

    fn request(change: fn(&mut Request)) -> Due {
        let mut request = Request::default();
        change(&mut request);
        super::by_acceptor(&request.encode(), 1024)
    }

    #[test]
    fn a_request_is_bad_where_3_1_5_6_says_so_and_good_at_each_boundary() {
        assert_eq!(super::by_acceptor(&Request::default().encode()[..19], 1024), Due::End(SHORT_REQUEST));
        let bad: [fn(&mut Request); 3] = [
            |request| request.credits_requested = 0,
            |request| request.max_receive_size = 127,
            |request| request.max_fragmented_size = 131_071,
        ];
        bad.into_iter().for_each(|change| assert_eq!(request(change), Due::End(BAD_REQUEST)));
        let refused: [fn(&mut Request); 3] = [
            |request| request.min_version = 0x0101,
            |request| request.max_version = 0x00FF,
            |request| (request.min_version, request.max_version) = (0x0101, 0x00FF),
        ];
        refused.into_iter().for_each(|change| assert_eq!(request(change), Due::Refusal));
        let good: [fn(&mut Request); 5] = [
            |_| {},
            |request| request.credits_requested = 1,
            |request| request.max_receive_size = 128,
            |request| request.preferred_send_size = 1,
            |request| request.reserved = u16::MAX,
        ];
        good.into_iter().for_each(|change| assert_eq!(request(change), Due::Nothing));
        let open: [fn(&mut Request); 4] = [
            |request| request.max_version = 0x0101,
            |request| request.preferred_send_size = 0,
            |request| request.preferred_send_size = 8137,
            |request| request.max_receive_size = 1025,
        ];
        open.into_iter().for_each(|change| assert_eq!(request(change), Due::Open));
    }

    fn response(change: fn(&mut Response)) -> Due {
        let mut response = Response::default();
        change(&mut response);
        super::by_initiator(&response.encode(2000), 2000, (10, 1024))
    }

    #[test]
    fn a_response_is_bad_where_3_1_5_7_says_so_and_good_at_each_boundary() {
        let short = &Response::default().encode(2000)[..31];
        assert_eq!(super::by_initiator(short, 2000, (10, 1024)), Due::End(BAD_RESPONSE));
        let bad: [fn(&mut Response); 7] = [
            |response| response.negotiated_version = 0x0101,
            |response| response.max_receive_size = 127,
            |response| response.max_fragmented_size = 131_071,
            |response| response.credits_granted = 0,
            |response| response.credits_requested = 0,
            |response| response.preferred_send_size = Some(2001),
            |response| response.status = NtStatus(1),
        ];
        bad.into_iter().for_each(|change| assert_eq!(response(change), Due::End(BAD_RESPONSE)));
        let good: [fn(&mut Response); 6] = [
            |_| {},
            |response| response.max_receive_size = 128,
            |response| (response.credits_granted, response.credits_requested) = (1, 1),
            |response| response.preferred_send_size = Some(2000),
            |response| (response.min_version, response.max_version) = (7, 3),
            |response| (response.reserved, response.max_read_write_size) = (9, 0),
        ];
        good.into_iter().for_each(|change| assert_eq!(response(change), Due::Nothing));
        let open: [fn(&mut Response); 3] = [
            |response| response.preferred_send_size = Some(0),
            |response| response.credits_granted = 11,
            |response| response.max_receive_size = 1025,
        ];
        open.into_iter().for_each(|change| assert_eq!(response(change), Due::Open));
    }

    fn data(change: fn(&mut Data), credits: (u16, u16)) -> Due {
        let mut data = Data::of(&[1; 100]);
        change(&mut data);
        super::by_established(&data.encode(credits.0, credits.1), 1024, 131_072)
    }

    #[test]
    fn data_are_bad_where_3_1_5_8_says_so_and_good_at_each_boundary() {
        let short = &Data::empty().encode(10, 0)[..19];
        assert_eq!(super::by_established(short, 1024, 131_072), Due::End(BAD_DATA));
        assert_eq!(data(|_| {}, (0, 0)), Due::End(BAD_DATA));
        let bad: [fn(&mut Data); 6] = [
            |data| (data.offset, data.length) = (23, 100),
            |data| data.offset = 32,
            |data| data.length = 101,
            |data| (data.offset, data.length) = (u32::MAX - 7, u32::MAX),
            |data| data.remaining = 131_072 - 99,
            |data| data.remaining = u32::MAX,
        ];
        bad.into_iter().for_each(|change| assert_eq!(data(change, (10, 0)), Due::End(BAD_DATA)));
        let good: [fn(&mut Data); 4] = [
            |_| {},
            |data| (data.flags, data.reserved) = (u16::MAX, u16::MAX),
            |data| data.length = 99,
            |data| (data.offset, data.length) = (120, 0),
        ];
        good.into_iter().for_each(|change| assert_eq!(data(change, (1, 0)), Due::Nothing));
        assert_eq!(data(|_| {}, (10, 1)), Due::Open);
        let open: [fn(&mut Data); 3] = [
            |data| data.remaining = 131_072 - 100,
            |data| data.offset = 16,
            |data| data.body.resize(1005, 0),
        ];
        open.into_iter().for_each(|change| assert_eq!(data(change, (10, 0)), Due::Open));
    }
}
