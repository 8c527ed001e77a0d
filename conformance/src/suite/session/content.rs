//! What is in the file.

use smbd_core::Access;
use smbd_smb2::wire::NtStatus;

use super::super::outcome::{Stop, Unjudged};
use super::{Asked, Buffer, Session};

/// Bytes that are written at a time where it does not matter.
const PIECE: usize = 1 << 20;
/// Bytes around one that differs, to be looked at without a channel.
const AROUND: u32 = 4096;
/// The case that is about WRITE.
const WRITES: &str = "BVT_Smb2OverRdmaChannel_WriteLargeFile";

impl Session<'_> {
    /// The file begins with these bytes.
    ///
    /// # Errors
    /// They cannot be written: the case can say nothing.
    pub(in super::super) fn file_has(&mut self, content: &[u8]) -> Result<(), Stop> {
        for (index, piece) in content.chunks(PIECE).enumerate() {
            let buffer = self.buffer(piece, Access::Read)?;
            let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let id = self.ask(&Asked::write(&buffer, length, (index * PIECE) as u64))?;
            let came = self.comes(id)?;
            if came.status() != Some(NtStatus::SUCCESS) {
                let because = format!("the file cannot be written: {}", came.words());
                return Err(Stop::NotJudged(Unjudged::stated(because, WRITES)));
            }
            self.peer.deregister(&buffer.memory)?;
        }
        Ok(())
    }

    /// What a READ has brought, where it should be `wanted`.
    pub(in super::super) fn has_read(&mut self, statements: &str, buffer: &Buffer, wanted: &[u8]) {
        let found = self.peer.contents(buffer.memory.buffer);
        let place = different(&found, wanted);
        self.peer.check(statements, place.is_none(), || {
            format!(
                "{} bytes of the file should be in the buffer, it differs from byte {} on",
                wanted.len(),
                place.unwrap_or_default()
            )
        });
    }

    /// What was written to the file from `at` on should be `wanted`: it is read by RDMA, and what differs is read once more in
    /// messages, which tells a WRITE that is wrong from a READ.
    pub(in super::super) fn has_written(
        &mut self,
        statements: &str,
        wanted: &[u8],
        at: u64,
    ) -> Result<(), Stop> {
        let length = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        let buffer = self.buffer(&vec![0; wanted.len()], Access::Write)?;
        let id = self.ask(&Asked::read(&buffer, length, at))?;
        let came = self.comes(id)?;
        let found = self.peer.contents(buffer.memory.buffer);
        let place = match came.status() {
            Some(NtStatus::SUCCESS) => different(&found, wanted),
            _ => Some(0),
        };
        let Some(place) = place else {
            self.peer.check(statements, true, String::new);
            return self.peer.deregister(&buffer.memory);
        };
        let rest = length.saturating_sub(u32::try_from(place).unwrap_or(u32::MAX)).min(AROUND);
        let Some(plain) = self.reads_plainly(rest, at + place as u64)? else {
            let because = format!("what was written cannot be read: {}", came.words());
            return Err(Stop::NotJudged(Unjudged::alone(because)));
        };
        let part = wanted.get(place..).unwrap_or_default().get(..rest as usize).unwrap_or_default();
        if plain == part {
            let because =
                format!("the file is as written, READ by RDMA brings something else: {}", came.words());
            let case = Some("BVT_Smb2OverRdmaChannel_ReadLargeFile".into());
            return Err(Stop::NotJudged(Unjudged { case, ..Unjudged::alone(because) }));
        }
        self.peer.require(statements, false, || {
            format!("{length} bytes were written, the file differs from byte {place} of them on")
        })
    }
}

/// Where the first bytes of what was found differ.
pub(super) fn different(found: &[u8], wanted: &[u8]) -> Option<usize> {
    let differ = found.iter().zip(wanted).position(|(found, wanted)| found != wanted);
    differ.or_else(|| (found.len() < wanted.len()).then_some(found.len()))
}
