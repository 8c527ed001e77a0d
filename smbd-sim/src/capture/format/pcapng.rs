//! Writing pcapng: one section, one Ethernet interface, nanosecond time stamps.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINK_TYPE_ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_APPLICATION: u16 = 4;
const OPTION_TIME_RESOLUTION: u16 = 9;
/// Ten to the minus ninth.
const NANOSECONDS: u8 = 9;

/// A pcapng file being written.
#[derive(Debug)]
pub struct PcapNg<W> {
    out: W,
}

impl<W: Write> PcapNg<W> {
    /// Writes the headers.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut file = Self { out };
        let mut section = Vec::new();
        section.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend_from_slice(&[1, 0, 0, 0]);
        // The length of the section is not known.
        section.extend_from_slice(&[0xff; 8]);
        option(&mut section, OPTION_APPLICATION, b"smbd-sim");
        option(&mut section, OPTION_END, &[]);
        file.block(SECTION_HEADER, &section)?;
        let mut interface = Vec::new();
        interface.extend_from_slice(&LINK_TYPE_ETHERNET.to_le_bytes());
        interface.extend_from_slice(&[0; 6]);
        option(&mut interface, OPTION_TIME_RESOLUTION, &[NANOSECONDS]);
        option(&mut interface, OPTION_END, &[]);
        file.block(INTERFACE, &interface)?;
        Ok(file)
    }

    /// Writes an Ethernet frame at a time in nanoseconds since 1970.
    ///
    /// # Errors
    /// Those of the output.
    pub fn frame(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let len =
            u32::try_from(frame.len()).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut body = Vec::with_capacity(20 + frame.len() + 3);
        body.extend_from_slice(&0_u32.to_le_bytes());
        body.extend_from_slice(&((time_ns >> 32) as u32).to_le_bytes());
        body.extend_from_slice(&((time_ns & 0xffff_ffff) as u32).to_le_bytes());
        body.extend_from_slice(&len.to_le_bytes());
        body.extend_from_slice(&len.to_le_bytes());
        body.extend_from_slice(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(ENHANCED_PACKET, &body)
    }

    /// Ends the file and gives the output back.
    ///
    /// # Errors
    /// Those of flushing the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let total = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&total)?;
        self.out.write_all(body)?;
        self.out.write_all(&total)
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}
