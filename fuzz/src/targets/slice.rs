//! RDMA operations over any descriptors, cut into requests.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use smbd_core::error::RdmaError;
use smbd_core::wire::NegotiateResponse;
use smbd_core::{
    Action, BufferDescriptorV1, Config, Connection, Head, Input, Instant, Limits, Params, RdmaVerb, Role,
    Token,
};

/// Requests that are looked at of one operation: 4 GiB in pieces of one byte would take a while.
const REQUESTS_MAX: usize = 500;

/// An operation.
#[derive(Arbitrary, Debug)]
struct Operation {
    is_write: bool,
    len: u32,
    offset: u64,
    /// Keeps most of them within the descriptors.
    fits: bool,
    piece: u32,
    slots: u8,
    read_depth: u8,
    descriptors: Vec<(u64, u32, Length)>,
}

/// Small lengths as often as large ones.
#[derive(Arbitrary, Debug)]
enum Length {
    Zero,
    Small(u8),
    Medium(u16),
    Any(u32),
}

/// The requests cover exactly the range, in order, none longer than the device takes, none across two descriptors; what
/// cannot be is refused with what is wrong.
pub fn slice(data: &[u8]) {
    let Ok(operation) = Operation::arbitrary_take_rest(Unstructured::new(data)) else { return };
    let remote: Arc<[_]> = operation.descriptors.iter().map(descriptor).collect();
    let total: u64 = remote.iter().map(|descriptor| u64::from(descriptor.length)).sum();
    let offset =
        if operation.fits { operation.offset.checked_rem(total + 1).unwrap_or(0) } else { operation.offset };
    let len = match u32::try_from(total - offset.min(total)) {
        Ok(most) if operation.fits => operation.len.checked_rem(most.saturating_add(1)).unwrap_or(0),
        _ => operation.len,
    };
    let verb = if operation.is_write { RdmaVerb::Write } else { RdmaVerb::Read };
    let mut connection = established(&operation);
    let result = connection.rdma(Instant::ORIGIN, verb, len, Arc::clone(&remote), offset);
    if let Err(error) = result {
        return refused(error, &remote, offset, len, total);
    }
    assert!(remote.iter().all(|descriptor| !wraps(descriptor)));
    assert!(u128::from(offset) + u128::from(len) <= u128::from(total));
    let piece = connection.limits().rdma_len_max;
    follow(&mut connection, &remote, offset, len, piece);
}

fn descriptor((offset, token, length): &(u64, u32, Length)) -> BufferDescriptorV1 {
    let length = match *length {
        Length::Zero => 0,
        Length::Small(n) => n.into(),
        Length::Medium(n) => n.into(),
        Length::Any(n) => n,
    };
    BufferDescriptorV1 { offset: *offset, token: Token(*token), length }
}

/// Whether the last byte has no address.
fn wraps(descriptor: &BufferDescriptorV1) -> bool {
    u128::from(descriptor.offset) + u128::from(descriptor.length.saturating_sub(1)) > u128::from(u64::MAX)
}

fn refused(error: RdmaError, remote: &[BufferDescriptorV1], offset: u64, len: u32, total: u64) {
    match error {
        RdmaError::DescriptorWraps { index, .. } => {
            let first = remote.iter().position(wraps).map(|at| u64::try_from(at).unwrap_or(u64::MAX));
            assert_eq!(Some(index), first, "{error}");
        }
        RdmaError::BeyondDescriptors { .. } => {
            assert!(u128::from(offset) + u128::from(len) > u128::from(total), "{error}");
            assert!(!remote.iter().any(wraps), "{error}: one wraps");
        }
        other => panic!("{other}"),
    }
}

/// Carries the operation out, and holds each request against the descriptors.
fn follow(connection: &mut Connection, remote: &[BufferDescriptorV1], offset: u64, len: u32, piece: u32) {
    let mut place = Place { element: 0, within: offset };
    let mut done = 0_u64;
    for _ in 0..REQUESTS_MAX {
        let mut posted = Vec::new();
        let is_over = loop {
            match connection.poll_action() {
                Action::PostRdma { id, local_offset, remote: request, .. } => {
                    assert_eq!(u64::from(local_offset), done);
                    assert!((1..=piece).contains(&request.length), "{request:?}, at most {piece}");
                    place.take(remote, request);
                    done += u64::from(request.length);
                    posted.push(id);
                }
                Action::Notify(smbd_core::Event::RdmaDone { result, .. }) => {
                    result.expect("every request went well");
                    break true;
                }
                Action::Wait(_) => break false,
                _ => {}
            }
        };
        if is_over {
            assert_eq!(done, u64::from(len));
            return;
        }
        assert!(!posted.is_empty(), "{done} of {len} bytes, and nothing is under way");
        assert!(done <= u64::from(len));
        for id in posted {
            connection.handle(Instant::ORIGIN, Input::RdmaDone { id }).expect("it is under way");
        }
    }
}

/// Where the next byte is: a descriptor, and bytes into it, which may be beyond its end.
struct Place {
    element: usize,
    within: u64,
}

impl Place {
    fn take(&mut self, remote: &[BufferDescriptorV1], request: BufferDescriptorV1) {
        while u64::from(remote[self.element].length) <= self.within {
            self.within -= u64::from(remote[self.element].length);
            self.element += 1;
        }
        let BufferDescriptorV1 { offset, token, length } = remote[self.element];
        assert_eq!((request.offset, request.token), (offset + self.within, token));
        assert!(
            self.within + u64::from(request.length) <= u64::from(length),
            "{request:?} leaves the descriptor"
        );
        self.within += u64::from(request.length);
    }
}

/// An initiator that has nothing else to do.
fn established(operation: &Operation) -> Connection {
    let params = Params {
        rdma_ops: 1,
        rdma_slots: u16::from(operation.slots).max(1),
        read_depth: u16::from(operation.read_depth).max(1),
        max_read_write_size: u32::MAX,
        keepalive: None,
        ..Params::windows()
    };
    let config = Config::try_from(params).expect("all values are in range");
    let mut connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
    let mut receive = None;
    let mut sent = None;
    let mut drain = |connection: &mut Connection| loop {
        match connection.poll_action() {
            Action::PostRecv { id, .. } => receive = receive.or(Some(id)),
            Action::PostSend { id, .. } => sent = sent.or(Some(id)),
            Action::Wait(_) => break (receive, sent),
            _ => {}
        }
    };
    drain(&mut connection);
    let limits = Limits {
        read_depth: u16::MAX,
        send_queue: u16::MAX,
        rdma_len_max: operation.piece.max(1),
        registration_requests: 0,
        send_with_invalidate: false,
        reads_in_order: false,
    };
    connection.handle(Instant::ORIGIN, Input::Connected { limits }).expect("it was asked to connect");
    let (Some(id), Some(sent)) = drain(&mut connection) else {
        panic!("no request, or no receive for its answer")
    };
    connection.handle(Instant::ORIGIN, Input::Sent { id: sent }).expect("it was posted");
    let response = NegotiateResponse {
        negotiated_version: 0x0100,
        status: smbd_core::wire::NtStatus(0),
        credits_requested: 10,
        credits_granted: 10,
        max_read_write_size: u32::MAX,
        preferred_send_size: 1364,
        max_receive_size: 1364,
        max_fragmented_size: 1 << 20,
        ..NegotiateResponse::failure(smbd_core::wire::NtStatus(0))
    };
    let mut bytes = [0; NegotiateResponse::LEN];
    response.encode(&mut bytes).expect("32 bytes are enough");
    let received = Input::Received { id, head: Head::of(&bytes), len: 32, invalidated: None };
    connection.handle(Instant::ORIGIN, received).expect("it was posted");
    connection
}
