//! A peer that overlooks the first message of a connection until another comes, as siw in a kernel does now and then: here each
//! time, over TCP and the MPA of iWARP by hand.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use smbd_core::Config;
use smbd_core::wire::{NegotiateRequest, NegotiateResponse, status};
use smbd_verbs::LinkType;
use smbd_verbs::blocking::Connection;

use super::ports;
use crate::case::{Context, Failure, Outcome};
use crate::device;
use crate::expect::same;
use crate::patience::PATIENCE;
use crate::settings;

/// Of an MPA frame that sets a connection up: key, flags and revision, length of the private data (RFC 5044, 7.1).
const SET_UP_LEN: usize = 20;
const REPLY_KEY: &[u8; 16] = b"MPA ID Rep Frame";
/// The enhanced set-up begins its private data with both depths (RFC 6581, 4).
const DEPTHS_LEN: usize = 4;
/// Bytes before the payload of an untagged message, without MPA's length (RFC 5041, 4.3).
const UNTAGGED_LEN: usize = 18;
/// MPA's checksum, which nobody has asked for.
const CHECKSUM: [u8; 4] = [0; 4];
/// The last segment of an RDMA Write, of no bytes at address 1 of token 1, without its checksum.
const WRITE_OF_NOTHING: [u8; 16] = [0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];

/// The initiator is given its answer when a second nudge has come: the first may be too early.
pub(super) fn request(context: &Context) -> Outcome {
    let link = device::link_type(context.address)?;
    if link != LinkType::Iwarp {
        return Ok(format!("not on {link}: a message overtakes the connection and is kept"));
    }
    let at = ports::fresh(context);
    let listener = TcpListener::bind(at)?;
    thread::scope(|scope| {
        let peer = scope.spawn(|| overlook(&listener).map_err(|failure| failure.to_string()));
        let connection = Connection::connect(at, &Config::try_from(settings::windows())?);
        // Dropped, it ends what the peer waits for.
        let negotiated = connection.map(|connection| connection.negotiated());
        peer.join().map_err(|_| "the peer panicked")??;
        let credits = negotiated?.ok_or("nothing was negotiated")?;
        same("MaxSendSize", credits.max_send_size, RESPONSE.max_receive_size)
    })?;
    Ok("asked, nudged twice, answered".to_owned())
}

/// What ksmbd says.
const RESPONSE: NegotiateResponse = NegotiateResponse {
    min_version: 0x0100,
    max_version: 0x0100,
    negotiated_version: 0x0100,
    credits_requested: 255,
    credits_granted: 254,
    status: status::SUCCESS,
    max_read_write_size: 8_388_608,
    preferred_send_size: 1364,
    max_receive_size: 1364,
    max_fragmented_size: 173_910,
};

fn overlook(listener: &TcpListener) -> Result<(), Failure> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    set_up(&mut stream)?;
    let request = frame(&mut stream)?;
    NegotiateRequest::parse(request.get(2 + UNTAGGED_LEN..).ok_or("a short first message")?)?;
    for number in 1..=2 {
        let nudge = frame(&mut stream).map_err(|failure| format!("no nudge {number} came: {failure}"))?;
        same("what came after the request", &nudge[..], &WRITE_OF_NOTHING)?;
    }
    let mut answer = [0; 2 + UNTAGGED_LEN + NegotiateResponse::LEN];
    // A Send in one segment, the first of its queue.
    answer[..4].copy_from_slice(&[0, (UNTAGGED_LEN + NegotiateResponse::LEN) as u8, 0x41, 0x43]);
    answer[12..16].copy_from_slice(&1_u32.to_be_bytes());
    RESPONSE.encode(&mut answer[2 + UNTAGGED_LEN..])?;
    stream.write_all(&[&answer[..], &CHECKSUM].concat())?;
    // Until the initiator goes.
    let _ = stream.read_to_end(&mut Vec::new());
    Ok(())
}

/// Answers the request for a connection with the depths that it asks for.
fn set_up(stream: &mut TcpStream) -> Result<(), Failure> {
    let mut request = [0; SET_UP_LEN];
    stream.read_exact(&mut request)?;
    let mut private = vec![0; usize::from(u16::from_be_bytes([request[18], request[19]]))];
    stream.read_exact(&mut private)?;
    let depths = private.get(..DEPTHS_LEN).ok_or("not an enhanced set-up")?;
    let len = (DEPTHS_LEN as u16).to_be_bytes();
    stream.write_all(&[&REPLY_KEY[..], &request[16..18], &len, depths].concat())?;
    Ok(())
}

/// The next frame, from its length on, without padding and checksum.
fn frame(stream: &mut TcpStream) -> Result<Vec<u8>, Failure> {
    let mut len = [0; 2];
    stream.read_exact(&mut len)?;
    let rest = usize::from(u16::from_be_bytes(len));
    let mut frame = vec![0; 2 + rest];
    frame[..2].copy_from_slice(&len);
    stream.read_exact(&mut frame[2..])?;
    let padding = (2 + rest).next_multiple_of(4) - (2 + rest);
    stream.read_exact(&mut vec![0; padding + CHECKSUM.len()])?;
    Ok(frame)
}
