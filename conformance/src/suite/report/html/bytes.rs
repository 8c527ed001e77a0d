//! A message with its bytes and their meaning.

use maud::{Markup, html};

use super::words;
use crate::suite::trace::Packet;

/// Bytes in a line.
const LINE: usize = 16;

/// The message, under a title.
pub(super) fn message(title: &str, packet: Option<&Packet>) -> Markup {
    html! {
        div.message {
            h4 { (title) }
            @match packet {
                None => p.quiet { "nothing" },
                Some(packet) => {
                    p.what {
                        (packet.kind) ", " (words::kept(packet))
                        @if let Some(token) = packet.invalidates { ", invalidates token " (format!("0x{token:08x}")) }
                    }
                    (dump(packet))
                    (fields(packet))
                }
            }
        }
    }
}

/// Offset, bytes, and the characters they are. Neighbouring fields are told apart by their shade.
fn dump(packet: &Packet) -> Markup {
    html! {
        pre.dump {
            @for (index, line) in packet.bytes.chunks(LINE).enumerate() {
                span.offset { (format!("{:04x}", index * LINE)) } "  "
                @for (class, bytes) in shades(packet, index * LINE, line) {
                    @match class {
                        Some(class) => span class=(class) { (bytes) },
                        None => (bytes),
                    }
                }
                (" ".repeat((LINE - line.len()) * 3)) " "
                span.characters { (characters(line)) }
                "\n"
            }
        }
    }
}

/// Bytes of a line by the field they belong to: its shade, and the bytes with a space behind each.
fn shades(packet: &Packet, base: usize, line: &[u8]) -> Vec<(Option<&'static str>, String)> {
    let shade_at =
        |at: usize| packet.kind.layout().fields().position(|field| field.range.contains(&at)).map(shade);
    let mut runs: Vec<(Option<&'static str>, String)> = Vec::new();
    for (at, byte) in line.iter().enumerate() {
        let class = shade_at(base + at);
        let digits = format!("{byte:02x} ");
        match runs.last_mut().filter(|(last, _)| *last == class) {
            Some((_, bytes)) => bytes.push_str(&digits),
            None => runs.push((class, digits)),
        }
    }
    runs
}

const fn shade(place: usize) -> &'static str {
    ["even", "odd"][place % 2]
}

fn characters(line: &[u8]) -> String {
    line.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }).collect()
}

fn fields(packet: &Packet) -> Markup {
    html! {
        table.fields {
            thead { tr { th scope="col" { "bytes" } th scope="col" { "field" } th scope="col" { "value" } } }
            tbody {
                @for (index, field) in packet.kind.layout().fields().enumerate() {
                    @let found = packet.fields().find(|(name, _)| *name == field.name);
                    tr class=(shade(index)) {
                        td { (field.range.start) "–" (field.range.end - 1) }
                        td { (field.name) }
                        td {
                            @match found {
                                Some((name, value)) => (words::value(name, value)),
                                None => span.quiet { "not there" },
                            }
                        }
                    }
                }
            }
        }
    }
}
