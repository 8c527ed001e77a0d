//! CANCEL (3.3.5.16).

use crate::server::action::{Action, OperationId};
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::WaitsFor;

/// The request that is to be cancelled, if the machine itself has to answer it. Others are told to the driver.
pub(in crate::server) fn request(inner: &mut Inner, asked: &Asked) -> Option<OperationId> {
    let own = inner.pending.iter().filter(|(_, pending)| {
        pending.asked.link == asked.link && pending.asked.session_id == asked.session_id
    });
    let target = own.into_iter().find(|(_, pending)| match asked.header.async_id() {
        Some(async_id) => pending.asked.async_id == Some(async_id),
        None => pending.asked.header.message_id == asked.header.message_id,
    });
    let (id, waits_for) = target.map(|(id, pending)| (*id, pending.waits_for))?;
    match waits_for {
        WaitsFor::Change => return Some(id),
        WaitsFor::File => inner.push(Action::Cancel(id)),
        // What has begun goes on.
        WaitsFor::Turn | WaitsFor::Rdma | WaitsFor::Transform | WaitsFor::Others => {}
    }
    None
}
