//! Connections of `blocking`: their calls let the other side have its turns.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb};
use smbd_link::blocking::Connection;

use super::LONG;
use super::end::LoopEnd;
use super::hub::{Hub, Protocol};
use super::load::Load;
use super::notes::{Notes, noted};
use super::plan::LoopPlan;
use super::transfer;
use crate::Side;

type Blocking = Connection<LoopEnd, Protocol>;

fn establish(hub: &Rc<Hub>, plan: &LoopPlan, side: Side, notes: &Notes) -> Option<Blocking> {
    let end = LoopEnd::new(hub, side, &plan.plan);
    noted(notes, Connection::establish_with(hub.machine(&plan.plan, side), end))
}

/// Sends messages, and waits for the first of them when a window of them is out.
pub(super) fn ask(hub: &Rc<Hub>, plan: &LoopPlan, notes: &Notes) {
    if let Some(mut connection) = establish(hub, plan, Side::Initiator, notes) {
        let goes_on = plan.load.moved == 0 || offer(&mut connection, hub, plan.load.moved, notes).is_some();
        let ending = goes_on.then(|| talk(&mut connection, &plan.load, notes)).flatten();
        let within = ending.unwrap_or(LONG);
        noted(notes, connection.close(within));
    }
    notes.borrow_mut().over = true;
}

/// Has the acceptor read a buffer and write it back, if it can be registered. `None` if no answer came.
fn offer(connection: &mut Blocking, hub: &Hub, len: u32, notes: &Notes) -> Option<()> {
    let buffer = transfer::buffer(hub, len);
    let Some(registration) = noted(notes, connection.register(&buffer, Access::ReadWrite)) else {
        return Some(());
    };
    let request = transfer::request(registration.descriptors.first()?);
    noted(notes, connection.send(request.clone()))?;
    let back = noted(notes, connection.recv(LONG))?;
    notes.borrow_mut().moved = Some(back == request && transfer::is_inverted(hub, buffer));
    noted(notes, connection.deregister(&registration));
    Some(())
}

/// Reads a buffer and writes it back, changed.
fn take(
    connection: &mut Blocking,
    hub: &Hub,
    remote: &Arc<[BufferDescriptorV1]>,
    notes: &Notes,
) -> Option<()> {
    let here = transfer::place(hub, remote);
    noted(notes, connection.rdma(RdmaVerb::Read, &here, remote, 0, here.len))?;
    transfer::invert(hub, here);
    noted(notes, connection.rdma(RdmaVerb::Write, &here, remote, 0, here.len))
}

/// How long it may take to end, if that was arranged.
fn talk(connection: &mut Blocking, load: &Load, notes: &Notes) -> Option<Duration> {
    let negotiated = connection.negotiated()?;
    for nth in 0..load.messages + load.window {
        if let Some(within) = connection.backend().take_ending() {
            return Some(within);
        }
        if nth < load.messages {
            let message = load.message(nth, &negotiated);
            noted(notes, connection.send(message.clone()))?;
            notes.borrow_mut().sent.push(message);
        }
        if nth >= load.window {
            let back = noted(notes, connection.recv(LONG))?;
            notes.borrow_mut().back.push(back);
        }
    }
    None
}

/// Returns every message.
pub(super) fn answer(hub: &Rc<Hub>, plan: &LoopPlan, notes: &Notes) {
    let Some(mut connection) = establish(hub, plan, Side::Acceptor, notes) else { return };
    let mut within = LONG;
    while let Some(message) = noted(notes, connection.recv(LONG)) {
        if let Some(ending) = connection.backend().take_ending() {
            within = ending;
            break;
        }
        if let Some(remote) = transfer::requested(&message)
            && take(&mut connection, hub, &remote, notes).is_none()
        {
            break;
        }
        if noted(notes, connection.send(message)).is_none() {
            break;
        }
    }
    noted(notes, connection.close(within));
}
