//! Data that go by RDMA signed or encrypted (MS-SMB2 2.2.43).
//!
//! They are signed, encrypted and looked at in memory that no device knows. So what is registered for encrypted data never has anything
//! else, whatever more of it than a part a device opens to the server; and what was looked at cannot be changed any more. It is also why
//! nothing of the memory of a transport has to be borrowed.

use smbd_core::Instant;
use smbd_smb2::client::{Client, DataPart};

use smbd_link::transport::Memory;

use crate::Lost;

/// What is to be done with a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    Sign,
    Encrypt,
    Check,
}

/// Signs data of a WRITE, which are in the memory of their part already.
pub(super) fn sign(client: &mut Client, now: Instant, part: &DataPart, plain: &[u8]) -> Result<(), Lost> {
    client.sign(now, part.registration, &[plain]).map_err(Lost::because)
}

/// Encrypts data of a WRITE, and puts them into the memory of their part. `room` is used on the way.
pub(super) fn encrypt(
    client: &mut Client,
    now: Instant,
    part: &DataPart,
    (plain, memory): (&[u8], &impl Memory),
    room: &mut Vec<u8>,
) -> Result<(), Lost> {
    room.resize(plain.len(), 0);
    client.encrypt_into(now, part.registration, &[plain], room).map_err(Lost::because)?;
    memory.fill(start(part)?, room).map_err(Lost::because)
}

/// Takes what a READ has brought out of the memory of its part, and looks at it. What is not good is zeros.
pub(super) fn check(
    client: &mut Client,
    now: Instant,
    part: &DataPart,
    memory: &impl Memory,
) -> Result<Vec<u8>, Lost> {
    let mut data = vec![0; part.len as usize];
    memory.read(start(part)?, &mut data).map_err(Lost::because)?;
    client.check(now, part.registration, &mut [&mut data]).map_err(Lost::because)?;
    Ok(data)
}

fn start(part: &DataPart) -> Result<u32, Lost> {
    u32::try_from(part.offset).map_err(|_| super::no_buffer())
}
