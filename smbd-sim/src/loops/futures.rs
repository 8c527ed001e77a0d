//! Async connections: tasks send and receive, another one drives.

use std::rc::Rc;
use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1};
use smbd_link::handles::{Connecting, Connection, Options as Waiting, Sender, open_with};

use super::LONG;
use super::end::LoopEnd;
use super::hub::Hub;
use super::load::Load;
use super::notes::{Notes, noted};
use super::plan::LoopPlan;
use super::transfer;
use crate::Side;

fn open(hub: &Rc<Hub>, plan: &LoopPlan, side: Side, waiting: Waiting, notes: &Notes) -> Connecting<LoopEnd> {
    let end = LoopEnd::new(hub, side, &plan.plan);
    let (connecting, driver) = open_with(hub.machine(&plan.plan, side), end, waiting);
    let notes = Rc::clone(notes);
    hub.spawn(async move {
        noted(&notes, driver.await.result);
    });
    connecting
}

/// One task sends, one receives.
pub(super) fn ask(hub: &Rc<Hub>, plan: &LoopPlan, notes: &Notes) {
    let connecting = open(
        hub,
        plan,
        Side::Initiator,
        Waiting { messages_max: 2, bytes_max: 1, ..Waiting::default() },
        notes,
    );
    let (load, notes, hub_of_task) = (plan.load, Rc::clone(notes), Rc::clone(hub));
    hub.spawn(async move {
        if let Some(mut connection) = noted(&notes, connecting.await) {
            if load.moved > 0 && offer(&mut connection, &hub_of_task, load.moved, &notes).await.is_none() {
                notes.borrow_mut().over = true;
                return;
            }
            let (sender, mut receiver) = connection.split();
            hub_of_task.spawn(send_all(sender.clone(), load, Rc::clone(&notes)));
            let mut within = LONG;
            while notes.borrow().back.len() < load.messages {
                if let Some(ending) = hub_of_task.take_ending(Side::Initiator) {
                    within = ending;
                    break;
                }
                let Some(back) = noted(&notes, receiver.recv().await) else { break };
                notes.borrow_mut().back.push(back);
            }
            noted(&notes, sender.close(within).await);
        }
        notes.borrow_mut().over = true;
    });
}

/// Has the acceptor read a buffer and write it back, if it can be registered. `None` if no answer came.
async fn offer(connection: &mut Connection<LoopEnd>, hub: &Hub, len: u32, notes: &Notes) -> Option<()> {
    let buffer = transfer::buffer(hub, len);
    let Some(registration) = noted(notes, connection.register(&buffer, Access::ReadWrite).await) else {
        return Some(());
    };
    let request = transfer::request(registration.descriptors.first()?);
    noted(notes, connection.send(request.clone()).await)?;
    let back = noted(notes, connection.recv().await)?;
    notes.borrow_mut().moved = Some(back == request && transfer::is_inverted(hub, buffer));
    noted(notes, connection.deregister(&registration).await);
    Some(())
}

/// Reads a buffer and writes it back, changed.
async fn take(
    connection: &Connection<LoopEnd>,
    hub: &Hub,
    remote: &Arc<[BufferDescriptorV1]>,
    notes: &Notes,
) -> Option<()> {
    let here = transfer::place(hub, remote);
    noted(notes, connection.rdma_read(&here, remote, 0, here.len).await)?;
    transfer::invert(hub, here);
    noted(notes, connection.rdma_write(&here, remote, 0, here.len).await)
}

async fn send_all(sender: Sender<LoopEnd>, load: Load, notes: Notes) {
    let negotiated = sender.negotiated();
    for nth in 0..load.messages {
        let message = load.message(nth, &negotiated);
        notes.borrow_mut().sent.push(message.clone());
        if noted(&notes, sender.send(message).await).is_none() {
            return;
        }
    }
}

/// Returns every message. Told to end at once, it drops its connection.
pub(super) fn answer(hub: &Rc<Hub>, plan: &LoopPlan, notes: &Notes) {
    let connecting = open(hub, plan, Side::Acceptor, plan.load.waiting, notes);
    let (notes, hub_of_task) = (Rc::clone(notes), Rc::clone(hub));
    hub.spawn(async move {
        let Some(mut connection) = noted(&notes, connecting.await) else { return };
        let mut within = LONG;
        while let Some(message) = noted(&notes, connection.recv().await) {
            if let Some(ending) = hub_of_task.take_ending(Side::Acceptor) {
                within = ending;
                break;
            }
            if let Some(remote) = transfer::requested(&message)
                && take(&connection, &hub_of_task, &remote, &notes).await.is_none()
            {
                break;
            }
            if noted(&notes, connection.send(message).await).is_none() {
                break;
            }
        }
        if within.is_zero() {
            return;
        }
        noted(&notes, connection.close(within).await);
    });
}
