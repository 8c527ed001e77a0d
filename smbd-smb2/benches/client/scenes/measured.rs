//! The calls that are measured, and nothing else: each entry is one jump into the crate, its arguments are ready.

use smbd_core::Instant;
use smbd_smb2::client::{
    Arrived, Client, Operation, OperationId, Output, Refused, RegistrationId, TreeHandle,
};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

#[inline(never)]
pub fn submit(
    client: &mut Client,
    now: Instant,
    tree: TreeHandle,
    operation: &Operation<'_>,
) -> Result<OperationId, Refused> {
    client.submit(now, tree, operation)
}

#[inline(never)]
pub fn poll<'a>(client: &'a mut Client, now: Instant, arrived: &'a mut Arrived<'_>) -> Output<'a> {
    client.poll(now, arrived)
}

#[inline(never)]
pub fn registered(
    client: &mut Client,
    id: RegistrationId,
    descriptors: &[BufferDescriptorV1],
) -> Result<(), Refused> {
    client.registered(id, descriptors)
}

#[inline(never)]
pub fn invalidated(client: &mut Client, token: Token) -> Result<(), Refused> {
    client.invalidated(token)
}

#[inline(never)]
pub fn deregistered(client: &mut Client, now: Instant, id: RegistrationId) -> Result<(), Refused> {
    client.deregistered(now, id)
}
