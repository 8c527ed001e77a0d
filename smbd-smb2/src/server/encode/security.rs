//! The security descriptor that every file has (MS-DTYP 2.4.6): everybody whom the share lets in may do everything.

use alloc::vec::Vec;

use super::file::words;
use crate::wire::AdditionalInformation;

/// S-1-1-0: everyone.
const EVERYONE: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
/// Size of the fixed part.
const HEADER: u32 = 20;
/// SE_SELF_RELATIVE.
const SELF_RELATIVE: u16 = 0x8000;
/// SE_DACL_PRESENT.
const DACL_PRESENT: u16 = 0x0004;

/// The parts that are asked for.
pub(in crate::server) fn descriptor(parts: AdditionalInformation, access: u32) -> Vec<u8> {
    let has_list = parts.contains(AdditionalInformation::DACL);
    let control = SELF_RELATIVE | if has_list { DACL_PRESENT } else { 0 };
    let mut body = Vec::new();
    let mut place = |is_asked: bool, bytes: &[u8]| {
        if !is_asked {
            return 0;
        }
        let at = HEADER.saturating_add(u32::try_from(body.len()).unwrap_or(0));
        body.extend_from_slice(bytes);
        at
    };
    let owner = place(parts.contains(AdditionalInformation::OWNER), &EVERYONE);
    let group = place(parts.contains(AdditionalInformation::GROUP), &EVERYONE);
    let list = place(has_list, &list(access));
    let mut out = alloc::vec![1, 0];
    out.extend_from_slice(&control.to_le_bytes());
    words(&mut out, &[owner, group, 0, list]);
    out.extend_from_slice(&body);
    out
}

/// An ACL with one ACE (MS-DTYP 2.4.5, 2.4.4.2).
fn list(access: u32) -> Vec<u8> {
    let mut out = alloc::vec![2, 0, 28, 0, 1, 0, 0, 0];
    out.extend_from_slice(&[0, 0, 20, 0]);
    words(&mut out, &[access]);
    out.extend_from_slice(&EVERYONE);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_asked_for_have_no_offset() {
        let all = AdditionalInformation(7);
        let whole = descriptor(all, 0x001F_01FF);
        assert_eq!(whole.len(), 20 + 12 + 12 + 28);
        assert_eq!(whole[4..20], [20, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0]);
        let none = descriptor(AdditionalInformation::NONE, 0);
        assert_eq!(none, [&[1, 0, 0, 0x80][..], &[0; 16]].concat());
    }
}
