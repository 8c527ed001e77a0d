//! Files as the capture decoder and the monitor get them.

use std::io::Write as _;

use smbd_conformance::monitor;
use smbd_sim::decode;

/// Most bytes of text that a byte of a file may become.
const TEXT_MAX: usize = 400;

/// Both come to an end, and say what they have to say in words whose number the file's length bounds.
pub fn capture(data: &[u8]) {
    let report = decode::read(data);
    let bound = 10_000 + data.len() * TEXT_MAX;
    assert!(report.items.len() <= data.len(), "{} items of {} bytes", report.items.len(), data.len());
    let mut said = Vec::new();
    write!(said, "{}", decode::text::report(&report)).expect("memory takes everything");
    assert!(said.len() <= bound, "{} bytes of text of {} bytes", said.len(), data.len());
    said.clear();
    decode::json::write(&report, &mut said).expect("memory takes everything");
    said.clear();
    let verdict = monitor::check(&report);
    write!(said, "{}", monitor::text::verdict(&verdict)).expect("memory takes everything");
    assert!(said.len() <= bound, "{} bytes of verdict of {} bytes", said.len(), data.len());
    said.clear();
    monitor::json::write(&verdict, &mut said).expect("memory takes everything");
}
