//! The server in memory: the suite's SMB2 server over direct TCP.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use smbd_conformance::smb2::server::{Options, ReadAnswer, Served, Server, WriteAnswer};

use crate::case::Failure;

/// MaxReadSize and MaxWriteSize: the most that cifs of Linux asks for at once.
const OPERATION_MAX: u32 = 4 << 20;
/// Enough for 8 operations of that size, each of which takes 64, and for what is between.
const CREDITS: u16 = 1024;
/// The longest message of direct TCP (MS-SMB2 2.1).
const MESSAGE_MAX: u32 = 0x00FF_FFFF;

/// Serves each client a share with files of its own, until the process is ended. Says `listening` when it does.
pub(crate) fn run(address: SocketAddr) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
    println!("listening on {address}");
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || match serve(&stream) {
            Ok(()) => {}
            Err(error) => eprintln!("a client's connection: {error}"),
        });
    }
    Ok(())
}

fn serve(mut stream: &TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut server = Server::new(Options {
        max_read: OPERATION_MAX,
        max_write: OPERATION_MAX,
        credits_max: CREDITS,
        ..Options::default()
    });
    // Headers and what is short come with one call; what is long goes past it.
    let mut input = BufReader::new(stream);
    let mut message = Vec::new();
    while receive(&mut input, &mut message)? {
        for served in server.take(&message)? {
            let answer = match served {
                Served::Answer(answer) => answer,
                Served::Read(read) => match server.serve_read(&read) {
                    Ok(bytes) => server.answer_read(&read, ReadAnswer::Inline(&bytes)),
                    Err(status) => server.answer_read(&read, ReadAnswer::Failed(status)),
                },
                Served::Write(write) => match server.serve_write(&write, &write.data) {
                    Ok(count) => server.answer_write(&write, WriteAnswer::Count(count)),
                    Err(status) => server.answer_write(&write, WriteAnswer::Failed(status)),
                },
            };
            let len = u32::try_from(answer.len())?;
            stream.write_all(&[&len.to_be_bytes(), answer.as_slice()].concat())?;
        }
    }
    Ok(())
}

/// The next message; `false` if the client has left.
fn receive(input: &mut impl Read, message: &mut Vec<u8>) -> Result<bool, Failure> {
    let mut header = [0; 4];
    match input.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        other => other?,
    }
    let len = u32::from_be_bytes(header);
    if len > MESSAGE_MAX {
        return Err(format!("the length of a message is {len}, {MESSAGE_MAX} at most (2.1)").into());
    }
    message.resize(len as usize, 0);
    input.read_exact(message)?;
    Ok(true)
}
