//! What a request to `smbd_tools::exercise` is for a subject that takes it for another.

use std::sync::Arc;

use smbd_conformance::catalogue::Asked;
use smbd_core::{Access, BufferDescriptorV1};
use smbd_tools::exercise::Request;

use crate::tampered::word;

/// Changes the request in a message, if there is one, whole.
pub fn ask(asked: Asked, bytes: &mut Vec<u8>) {
    let (offset, length) = (word(bytes, 12, 4) as usize, word(bytes, 16, 4) as usize);
    let Some(payload) = bytes.get(offset..offset.saturating_add(length)).filter(|_| offset >= 20) else {
        return;
    };
    let Ok(Some(request)) = Request::parse(payload) else { return };
    let mut what = request.what;
    change(asked, &mut what);
    let payload = what.encode(request.tag);
    bytes.truncate(offset);
    bytes.extend_from_slice(&payload);
    let length = u32::try_from(payload.len()).unwrap_or_default();
    bytes[16..20].copy_from_slice(&length.to_le_bytes());
}

fn change(asked: Asked, what: &mut Request) {
    match what {
        Request::Read { offset, length, descriptors } => range(asked, offset, length, descriptors),
        Request::Write { seed, offset, length, invalidate, descriptors } => {
            match asked {
                Asked::OtherBytes => *seed ^= 1,
                Asked::NoToken => *invalidate = None,
                _ => range(asked, offset, length, descriptors),
            };
        }
        Request::Offer { length, access, .. } => match asked {
            Asked::AllRights => *access = Access::ReadWrite,
            Asked::OtherRight => {
                *access = if *access == Access::Read { Access::Write } else { Access::Read };
            }
            Asked::Longer => *length = length.saturating_add(1),
            _ => {}
        },
        // Of all that is answered with `Done` this does nothing else.
        Request::Withdraw { .. } if asked == Asked::Keeps => *what = Request::Count { hash: false },
        _ => {}
    }
}

fn range(asked: Asked, offset: &mut u64, length: &mut u32, all: &mut Arc<[BufferDescriptorV1]>) {
    let mut changed = all.to_vec();
    match asked {
        Asked::Later => *offset = offset.wrapping_add(1),
        Asked::Shorter => *length = length.saturating_sub(1),
        Asked::Skips => {
            if let Some(first) = changed.iter_mut().find(|first| first.length > 1) {
                (first.offset, first.length) = (first.offset.wrapping_add(1), first.length - 1);
            }
        }
        Asked::Sorted => changed.sort_by_key(|descriptor| (descriptor.token, descriptor.offset)),
        Asked::OneDescriptor => drop(changed.pop()),
        _ => {}
    }
    *all = changed.into();
}
