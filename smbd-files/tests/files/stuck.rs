//! Transfers by RDMA that do not end, over a broker: in virtual time.

use std::future::poll_fn;
use std::time::Duration;

use smbd_broker::client::{Broker, Incoming, connect};
use smbd_broker::socket::UnixPackets;
use smbd_broker::wire::Rule;
use smbd_files::serve::{BrokerLink, Event, Link as _, Order};
use smbd_smb2::server::OperationId;
use smbd_smb2::wire::{BufferDescriptorV1, Token};
use tokio::time::{Instant, advance, timeout};

use super::broker_script::{Owner, Place, ends_when_told, has_moved, newcomer, transfer};
use super::server::folder;

/// How long a transfer may take, as the README of smbd-files says, and what its timer may be late.
const LIMIT: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);

/// A broker, and an owner of its slots.
struct Rig {
    at_broker: Owner,
    broker: Broker,
    incoming: Incoming,
    _place: Place,
}

impl Rig {
    async fn new(name: &str) -> Self {
        let place = Place::new(&folder(name));
        let path = place.path().to_owned();
        let owner = tokio::spawn(async move { connect(path.as_ref(), "test").await.unwrap() });
        let (at_broker, _) = place.welcome().await;
        let (broker, incoming) = owner.await.unwrap();
        Self { at_broker, broker, incoming, _place: place }
    }

    fn slot_len(&self) -> u32 {
        self.broker.slots().slot_len()
    }

    fn free(&self) -> u32 {
        u32::try_from(self.broker.slots().count().1).unwrap()
    }

    /// A client that comes, and the broker's end of its connection.
    async fn client(&mut self, number: u64) -> (BrokerLink, UnixPackets) {
        let (end, _) = self.at_broker.connection(newcomer(number, Rule::Default)).await;
        (BrokerLink::new(self.incoming.next().await.unwrap()), end)
    }
}

/// Has the link read so many bytes of its client's memory.
fn fetch(link: &mut BrokerLink, id: u64, len: u32) {
    let buffers = vec![BufferDescriptorV1 { offset: 0, token: Token(1), length: len }];
    link.order(Order::Fetch { id: OperationId(id), buffers, len });
}

async fn event(link: &mut BrokerLink) -> Result<Event, String> {
    poll_fn(|cx| link.poll_event(cx, true)).await.map_err(|lost| lost.to_string())
}

/// Closes a link and leaves it, as what serves it does.
async fn close(mut link: BrokerLink, end: &mut UnixPackets) {
    let ((), ()) = tokio::join!(poll_fn(|cx| link.poll_close(cx)), ends_when_told(end));
    Box::new(link).leave();
}

#[tokio::test(start_paused = true)]
async fn clients_whose_transfers_do_not_end_are_ended_and_another_one_gets_their_slots() {
    let mut rig = Rig::new("stuck").await;
    let (mut first, mut first_end) = rig.client(1).await;
    let (mut second, mut second_end) = rig.client(2).await;
    let (mut third, mut third_end) = rig.client(3).await;
    // All slots are theirs.
    let (all, half) = (rig.free(), rig.free() / 2);
    assert!(half > 0);
    fetch(&mut first, 1, half * rig.slot_len());
    fetch(&mut second, 2, (all - half) * rig.slot_len());
    let began = Instant::now();
    for (link, end) in [(&mut first, &mut first_end), (&mut second, &mut second_end)] {
        tokio::select! {
            event = event(link) => panic!("{event:?}"),
            _ = transfer(end) => {}
        }
    }
    assert_eq!(rig.free(), 0);
    advance(SECOND).await;
    fetch(&mut third, 3, 10);
    let serving = async {
        tokio::join!(event(&mut third), async {
            let tag = transfer(&mut third_end).await;
            has_moved(&mut third_end, tag).await;
        })
    };
    let ending = async {
        for (mut link, mut end) in [(first, first_end), (second, second_end)] {
            let said = event(&mut link).await.unwrap_err();
            assert_eq!(said, "a transfer by RDMA took more than 30 s");
            assert!((LIMIT..LIMIT + SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
            close(link, &mut end).await;
        }
    };
    let both = async { tokio::join!(serving, ending) };
    let ((served, ()), ()) = timeout(LIMIT * 10, both).await.expect("they end");
    assert!(matches!(served, Ok(Event::Fetched(OperationId(3), Some(data))) if data.len() == 10));
    assert_eq!(rig.free(), all);
}

#[tokio::test(start_paused = true)]
async fn time_in_which_a_transfer_waits_for_slots_counts() {
    let mut rig = Rig::new("slots").await;
    let (mut link, mut end) = rig.client(1).await;
    let taken = rig.broker.slots().take(u64::from(rig.free() * rig.slot_len())).unwrap();
    let began = Instant::now();
    fetch(&mut link, 1, 10);
    assert!(timeout(LIMIT / 2, event(&mut link)).await.is_err());
    rig.broker.slots().give(&taken);
    tokio::select! {
        event = event(&mut link) => panic!("{event:?}"),
        _ = transfer(&mut end) => {}
    }
    let said = timeout(LIMIT, event(&mut link)).await.unwrap().unwrap_err();
    assert_eq!(said, "a transfer by RDMA took more than 30 s");
    assert!((LIMIT..LIMIT + SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
}
