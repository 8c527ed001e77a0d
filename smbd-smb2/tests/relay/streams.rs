//! Long messages: they pass in pieces, and no more memory is taken than the budget has.

use allocation_counter::measure;
use smbd_smb2::relay::*;
use smbd_smb2::wire::*;

use crate::rig::*;

const LEN: usize = 8 << 20;

/// Runs a relay on what one side sends; the other takes little, and seldom. Counts what goes on, and what memory it takes.
fn run(relay: &mut Relay, mut arrived: Arrived<'_>, is_slow: bool) -> (usize, u64, u64) {
    let (mut passed, mut turn) = (0, 0_u32);
    let info = measure(|| {
        let mut held = 0;
        loop {
            turn += 1;
            let room = if is_slow && !turn.is_multiple_of(3) { 0 } else { 1000 };
            let room = Room { client: room, server: room };
            let event = match relay.poll(&mut arrived, room) {
                Action::ToServer(Source::Bytes(bytes)) => {
                    (passed, held) = (passed + bytes.len(), 0);
                    continue;
                }
                Action::ToServer(Source::Buffer { head, buffer, len, .. }) => {
                    passed += head.len() + len as usize;
                    Event::Sent { buffer, len }
                }
                Action::ToClient { write, bytes, .. } => {
                    (passed, held) = (passed + bytes.len(), 0);
                    let Some(Transfer { buffer, len, .. }) = write else { continue };
                    passed += len as usize;
                    Event::RdmaDone { buffer, is_success: true }
                }
                Action::RdmaRead(Transfer { buffer, .. }) => Event::RdmaDone { buffer, is_success: true },
                Action::RdmaWrite(Transfer { buffer, len, .. }) => {
                    passed += len as usize;
                    Event::RdmaDone { buffer, is_success: true }
                }
                Action::Store { .. } => continue,
                Action::Idle(_) => {
                    held += 1;
                    if held > 5 { break } else { continue }
                }
                Action::Close(reason) => panic!("{reason}"),
            };
            held = 0;
            relay.handle(event).unwrap();
        }
    });
    (passed, info.bytes_max, info.count_total)
}

fn relay() -> Relay {
    let params = Params { max_fragmented_size: 16 << 20, ..Params::default() };
    Relay::new(&Config::new(&params).unwrap())
}

#[test]
fn a_message_of_8_mib_passes_both_ways_without_a_copy() {
    let request = WriteRequest { data: &vec![1; LEN], ..write_request(Channel::NONE, 0, &[]) };
    let message = build(&signed(write_header(3)), &request);
    for is_slow in [false, true] {
        let mut relay = relay();
        let client = ClientBytes { bytes: &message, remaining: 0 };
        let (passed, memory, _) = run(&mut relay, Arrived { client, server: &[] }, is_slow);
        assert_eq!(passed, message.len() + 4);
        assert!(memory < 4096, "{memory} bytes were taken");

        let answer = build(
            &signed(read_header(3).response(NtStatus::SUCCESS)),
            &ReadResponse { data: &vec![1; LEN], ..ReadResponse::default() },
        );
        let framed = [&(answer.len() as u32).to_be_bytes(), &answer[..]].concat();
        let server = &framed[..];
        let (passed, memory, _) = run(&mut relay, Arrived { server, ..Arrived::default() }, is_slow);
        assert_eq!(passed, answer.len());
        assert!(memory < 4096, "{memory} bytes were taken");
    }
}

#[test]
fn a_transfer_of_8_mib_goes_through_buffers_only() {
    let len = LEN as u32;
    for is_slow in [false, true] {
        let mut relay = relay();
        let message = write(3, Channel::RDMA_V1_INVALIDATE, &[len]);
        let client = ClientBytes { bytes: &message, remaining: 0 };
        let (passed, memory, _) = run(&mut relay, Arrived { client, server: &[] }, is_slow);
        assert_eq!(passed, 4 + 112 + LEN);
        assert!(memory < 4096, "{memory} bytes were taken");

        let message = read(4, Channel::RDMA_V1_INVALIDATE, &[len]);
        let client = ClientBytes { bytes: &message, remaining: 0 };
        run(&mut relay, Arrived { client, server: &[] }, is_slow);
        let answer = data(4, NtStatus::SUCCESS, &vec![1; LEN]);
        let framed = [&(answer.len() as u32).to_be_bytes(), &answer[..]].concat();
        let server = &framed[..];
        let (passed, memory, count) = run(&mut relay, Arrived { server, ..Arrived::default() }, is_slow);
        assert_eq!(passed, LEN + 80);
        assert!(memory < 4096 && count < 20, "{memory} bytes were taken in {count} steps");
        assert_eq!(
            (relay.statistics().bytes.rdma_read, relay.statistics().bytes.rdma_write),
            (LEN as u64, LEN as u64)
        );
    }
}

#[test]
fn requests_with_a_channel_and_their_answers_allocate_nothing_once_there_were_some() {
    let mut relay = relay();
    let pass = |relay: &mut Relay, id: u64, outstanding: u64| {
        let mut count = 0;
        let messages = |nth| {
            if nth % 2 == 0 {
                return (
                    read(id + nth, Channel::RDMA_V1_INVALIDATE, &[500; 3]),
                    data(id + nth, NtStatus::SUCCESS, &[1; 1500]),
                );
            }
            let response = write_header(id + nth).response(NtStatus::SUCCESS);
            (write(id + nth, Channel::RDMA_V1, &[700]), build(&response, &WriteResponse { count: 700 }))
        };
        let messages: Vec<_> = (0..outstanding).map(messages).collect();
        for (request, _) in &messages {
            let client = ClientBytes { bytes: request, remaining: 0 };
            count += run(relay, Arrived { client, server: &[] }, false).2;
        }
        for (_, answer) in messages.iter().rev() {
            let framed = [&(answer.len() as u32).to_be_bytes(), &answer[..]].concat();
            let server = &framed[..];
            count += run(relay, Arrived { server, ..Arrived::default() }, false).2;
        }
        count
    };
    assert!(pass(&mut relay, 0, 30) > 0);
    for turn in 1..20 {
        assert_eq!(pass(&mut relay, 100 * turn, 30), 0);
    }
}

#[test]
fn a_client_that_sends_and_a_server_that_takes_nothing_fill_no_more_than_the_budget() {
    let params = Params { budget: 64 << 10, held_max: 4 << 10, buffer_len: 1 << 10, ..Params::default() };
    let mut relay = Relay::new(&Config::new(&params).unwrap());
    let room = Room { client: 1000, server: 0 };
    let mut is_paused = false;
    let info = measure(|| {
        for id in 0..2000 {
            let message =
                if id % 2 == 0 { echo(id) } else { write(id, Channel::RDMA_V1_INVALIDATE, &[500; 17]) };
            let client = ClientBytes { bytes: &message, remaining: 0 };
            let mut arrived = Arrived { client, server: &[] };
            loop {
                match relay.poll(&mut arrived, room) {
                    Action::Idle(idle) => {
                        is_paused = idle.pause_client;
                        break;
                    }
                    Action::RdmaRead(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            if is_paused {
                break;
            }
        }
    });
    assert!(is_paused);
    assert!(info.bytes_max < 64 << 10, "{} bytes were taken", info.bytes_max);
}
