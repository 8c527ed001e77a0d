//! What serves a client: the server of `smbd-smb2` and a [`Channel`], driven as `smbd_serve::serve` drives them, but for threads and
//! time. Operations on files are carried out at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use smbd_link::link::Owned;
use smbd_serve::link::{Channel, Data, Event, Link as _, Order};
use smbd_smb2::server::{
    Action, Client, Done, Files, LinkId, Memory, Operation, OperationId, Server, WriteData,
};

use super::client::Still;
use super::device::Device;
use super::host::{NOW, files, server};
use super::measured::apart;

/// What is served to all clients.
pub struct Host {
    server: Arc<Server>,
    files: RefCell<Files<Memory>>,
}

impl Host {
    pub fn new() -> Rc<Self> {
        Rc::new(Self { server: server(), files: RefCell::new(files()) })
    }
}

pub struct Serves {
    host: Rc<Host>,
    /// By which the files know the client.
    number: u64,
    channel: Channel<Owned<Device, OperationId>, Still>,
    client: Client,
    /// What was fetched for an operation, or read by it.
    data: BTreeMap<OperationId, Data>,
}

/// Serves a connection, which never ends.
pub async fn serve(host: Rc<Host>, number: u64, link: smbd_link::link::Link<Device, OperationId>) {
    let (link, _) = link.established(drop).await.expect("established");
    let channel = Channel::new(link, Still);
    let client = Client::new(Arc::clone(&host.server), channel.transport(), NOW, [7; 32]);
    let mut serves = Serves { host, number, channel, client, data: BTreeMap::new() };
    poll_fn(|cx| serves.poll(cx)).await
}

impl Serves {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.act();
            let Poll::Ready(event) = self.channel.poll_event(cx, true) else { return Poll::Pending };
            match event.expect("a connection that goes on") {
                Event::Message(mut message) => self.client.received(NOW, LinkId::FIRST, &mut message),
                Event::Fetched { id, data, .. } => {
                    self.data.insert(id, data.expect("fetched"));
                    self.client.rdma_done(NOW, id, true).expect("a transfer");
                }
                Event::Delivered(id, is_success) => {
                    self.client.rdma_done(NOW, id, is_success).expect("a transfer");
                }
                Event::PastRequest(_) | Event::PastResponse(_) => panic!("there is no past"),
            }
        }
    }

    /// Does all that the server wants done.
    fn act(&mut self) {
        while let Some((_, action)) = self.client.poll() {
            match action {
                Action::Send { message, invalidate } => self.channel.order(Order::send(message, invalidate)),
                Action::RdmaRead { id, buffers, len } => {
                    self.channel.order(Order::Fetch { id, buffers, len });
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let data = self.data.remove(&id).expect("data");
                    self.channel.order(Order::Deliver { id, data, len, buffers });
                }
                Action::File { id, operation } => self.file(id, operation),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Carries out an operation. What is read for RDMA gets memory of the channel.
    fn file(&mut self, id: OperationId, operation: Operation) {
        let data = match &operation {
            Operation::ReadChannel { len, .. } => Some(self.channel.memory(*len).expect("memory")),
            _ => self.data.remove(&id),
        };
        let (files, number) = (&self.host.files, self.number);
        let done = apart(|| {
            let mut bytes = Vec::new();
            if let (Operation::Write { data: WriteData::Channel(len), .. }, Some(data)) = (&operation, &data)
            {
                data.append_to(0, *len, &mut bytes).expect("inside the memory");
            }
            let done = files
                .borrow_mut()
                .carry_out(number, id, operation, Some(&mut bytes), NOW)
                .expect("nobody locks");
            if let (Ok(Done::Count(_)), Some(data)) = (&done, &data) {
                data.fill(0, &bytes).expect("inside the memory");
            }
            done
        });
        if let (Ok(Done::Count(_)), Some(data)) = (&done, data) {
            self.data.insert(id, data);
        }
        self.client.completed(NOW, id, done).expect("an operation");
    }
}
