//! What the server says of requests.

use smbd_smb2::wire::*;

/// A request, in words.
pub fn describe(header: &Header, request: &Request<'_>, sealed: bool) -> String {
    let how = match (sealed, header.flags.contains(Flags::SIGNED)) {
        (true, _) => " encrypted",
        (_, true) => " signed",
        _ => "",
    };
    let what = match request {
        Request::Read(read) => {
            let count = read.descriptors().unwrap().len();
            format!(" {}+{} channel {} descriptors {count}", read.offset, read.length, read.channel)
        }
        Request::Write(write) => {
            let count = write.descriptors().unwrap().len();
            let len = write.data.len();
            format!(
                " {}+{len} channel {} remaining {} descriptors {count}",
                write.offset, write.channel, write.remaining_bytes
            )
        }
        _ => String::new(),
    };
    let Header { command, message_id, credit_charge, credits, .. } = header;
    format!("{message_id} {command}{how} charge {credit_charge} asks {credits}{what}")
}
