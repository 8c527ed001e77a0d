use super::*;
use crate::capture::format::mpa::encode_fpdu;
use crate::capture::format::rdmap::{Placement, opcode};
use crate::decode::collect::Mark;

const MARK: Mark = Mark { frame: 1, time_ns: 1 };

fn fpdu(payload: &[u8], crc: bool) -> Vec<u8> {
    let placement = Placement::Untagged { invalidate: 0, queue: 0, message: 1, offset: 0 };
    encode_fpdu(&Segment { last: true, opcode: opcode::SEND, placement }.encode(payload), crc)
}

fn all(framing: &mut Framing, stream: &mut Stream, crc: bool) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        match framing.next(stream, crc) {
            Found::Nothing => return found,
            Found::Empty => {}
            Found::Frame(frame, _) => found.push(if frame.reply { "reply".into() } else { "request".into() }),
            Found::Fpdu { ulpdu, bad_crc, .. } => {
                let payload = String::from_utf8_lossy(&ulpdu[Segment::UNTAGGED_LEN..]).into_owned();
                found.push(if bad_crc { format!("{payload} (bad)") } else { payload });
            }
            Found::Garbage => found.push("garbage".into()),
        }
    }
}

fn request() -> Vec<u8> {
    let frame = MpaFrame {
        reply: false,
        markers: false,
        crc: true,
        rejected: false,
        enhanced: false,
        revision: 1,
        private_data: vec![1, 2],
    };
    frame.encode()
}

#[test]
fn from_the_start_frames_and_fpdus_follow_each_other_however_they_are_cut() {
    let bytes = [request(), fpdu(b"one", true), fpdu(b"two!", true), fpdu(b"", true)].concat();
    for piece in 1..bytes.len() {
        let (mut framing, mut stream) = (Framing::Start, Stream::starting_at(0));
        let mut found = Vec::new();
        for (index, part) in bytes.chunks(piece).enumerate() {
            stream.offer(MARK, (index * piece) as u32, part);
            found.extend(all(&mut framing, &mut stream, true));
        }
        assert_eq!(found, ["request", "one", "two!", ""], "{piece} bytes at a time");
    }
}

#[test]
fn an_empty_fpdu_is_only_a_ready_to_receive_indication() {
    let (mut framing, mut stream) = (Framing::Start, Stream::starting_at(0));
    let bytes = [request(), encode_fpdu(&[], true), fpdu(b"one", true)].concat();
    stream.offer(MARK, 0, &bytes);
    assert_eq!(all(&mut framing, &mut stream, true), ["request", "one"]);
}

#[test]
fn a_stream_that_begins_otherwise_is_foreign_at_once() {
    let (mut framing, mut stream) = (Framing::Start, Stream::starting_at(0));
    stream.offer(MARK, 0, b"GET / HTTP/1.1");
    assert_eq!(all(&mut framing, &mut stream, false), [""; 0]);
    assert!(matches!(framing, Framing::Foreign));
}

#[test]
fn in_the_middle_fpdus_are_found_at_a_segment_boundary_with_and_without_crc() {
    for crc in [true, false] {
        let (mut framing, mut stream) = (Framing::default(), Stream::default());
        let tail = &fpdu(b"the end of one", crc)[9..];
        let whole = [fpdu(b"first", crc), fpdu(b"second", crc)].concat();
        stream.offer(MARK, 1000, tail);
        assert_eq!(all(&mut framing, &mut stream, false), [""; 0]);
        stream.offer(MARK, 1000 + tail.len() as u32, &whole);
        assert_eq!(all(&mut framing, &mut stream, false), ["first", "second"]);
    }
}

#[test]
fn in_the_middle_other_traffic_is_given_up_after_a_bounded_search() {
    let (mut framing, mut stream) = (Framing::default(), Stream::default());
    let mut sequence = 0;
    while !matches!(framing, Framing::Foreign) {
        stream.offer(MARK, sequence, &[0x55; 1400]);
        sequence += 1400;
        assert_eq!(all(&mut framing, &mut stream, false), [""; 0]);
        assert!(sequence as usize <= SEARCH_MAX + 100_000);
    }
}

#[test]
fn a_wrong_crc_is_told_and_a_wrong_header_resynchronises() {
    let (mut framing, mut stream) = (Framing::Start, Stream::starting_at(0));
    let mut bad = fpdu(b"bad", true);
    let last = bad.len() - 1;
    bad[last] ^= 1;
    let start = [request(), bad, b"\x00\x20 this is no FPDU at all, is it?".to_vec()].concat();
    stream.offer(MARK, 0, &start);
    assert_eq!(all(&mut framing, &mut stream, true), ["request", "bad (bad)", "garbage"]);
    stream.offer(MARK, start.len() as u32, &fpdu(b"again", true));
    assert_eq!(all(&mut framing, &mut stream, true), ["again"]);
}

#[test]
fn a_long_run_of_zeros_costs_neither_stack_nor_much_time() {
    let (mut framing, mut stream) = (Framing::Start, Stream::starting_at(0));
    stream.offer(MARK, 0, &request());
    let zeros = vec![0; 4 * 1024 * 1024];
    stream.offer(MARK, request().len() as u32, &zeros);
    assert_eq!(all(&mut framing, &mut stream, false), ["request"]);
}
