//! The server of the client, over a link. What it does is not measured.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll};

use smbd_core::RdmaVerb;
use smbd_link::link::{Event, Link, Owned};
use smbd_link::transport::{Heap, Memory, Transport};
use smbd_smb2::server::{self, Action, Connection, Files, OperationId};

use super::device::Device;
use super::host::{NOW, server};

/// By which the files know their only client.
const NUMBER: u64 = 1;

struct Serves {
    link: Owned<Device, OperationId>,
    connection: Connection,
    files: Files<server::Memory>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    /// Memory of transfers by RDMA, and how much of it what is fetched takes.
    transfers: BTreeMap<OperationId, (Heap, Option<u32>)>,
}

/// Serves a connection, which never ends.
pub async fn serve(link: Link<Device, OperationId>) {
    let (link, _) = link.established(drop).await.expect("established");
    let transport = server::Transport::Rdma { send_max: Transport::<OperationId>::limits(&link).max_send };
    let connection = Connection::new(server(), transport, NOW, [7; 32]);
    let files = Files::new(vec![server::Memory::new("data", NOW)]);
    let mut serves = Serves { link, connection, files, buffers: BTreeMap::new(), transfers: BTreeMap::new() };
    poll_fn(|cx| serves.poll(cx)).await
}

impl Serves {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.act();
            if let Poll::Ready(event) = self.link.poll_event(cx) {
                let Event::RdmaDone { name, result } = event else { panic!("{event:?}") };
                result.expect("moved");
                let (memory, len) = self.transfers.remove(&name).expect("a transfer");
                if let Some(len) = len {
                    let mut data = Vec::new();
                    memory.append_to(0, len, &mut data).expect("inside the memory");
                    self.buffers.insert(name, data);
                }
                self.connection.rdma_done(NOW, name, true).expect("a transfer");
            } else if let Some(piece) = self.link.try_recv() {
                self.connection.received(NOW, &mut piece.bytes.to_vec());
            } else {
                return Poll::Pending;
            }
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.connection.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    self.link.send(message.bytes().to_vec().into(), invalidate);
                }
                Action::RdmaRead { id, buffers, len } => {
                    let memory = Heap::allocate(len).expect("memory");
                    self.transfers.insert(id, (memory.clone(), Some(len)));
                    self.link.rdma(id, RdmaVerb::Read, memory, buffers, 0, len);
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let (memory, data) = (Heap::allocate(len).expect("memory"), self.buffers.remove(&id));
                    memory.fill(0, &data.expect("data")[..len as usize]).expect("inside the memory");
                    self.transfers.insert(id, (memory.clone(), None));
                    self.link.rdma(id, RdmaVerb::Write, memory, buffers, 0, len);
                }
                Action::File { id, operation } => {
                    let mut buffer = self.buffers.remove(&id).unwrap_or_default();
                    let done = self.files.carry_out(NUMBER, id, operation, Some(&mut buffer), NOW);
                    self.buffers.insert(id, buffer);
                    self.connection.completed(NOW, id, done.expect("nobody locks")).expect("an operation");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
