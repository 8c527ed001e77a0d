//! Owners over real sockets: the client, the driver of the broker's end, and the broker.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use smbd_broker::broker::{Broker, Log, Quotas, Settings};
use smbd_broker::client::{CallError, TooFewSlots, connect};
use smbd_broker::server::{Boxed, Hub, Pair, System, attend};
use smbd_broker::socket::{self, PacketBuffer, PacketSocket, UnixListener, UnixPackets};
use smbd_broker::wire::{Limits, Newcomer, Refusal, Rule};
use smbd_core::Instant;
use smbd_smb2::wire::Guid;

/// A host without devices.
struct Host;

impl System for Host {
    type Socket = UnixPackets;
    type Memory = u16;

    fn pair(&self) -> io::Result<Pair<UnixPackets>> {
        let (own, theirs) = socket::pair()?;
        let cookie = socket::cookie(&theirs)?;
        Ok(Pair { own: UnixPackets::new(own)?, theirs, cookie })
    }

    fn cookie(&self, descriptor: &OwnedFd) -> Option<u64> {
        socket::cookie(descriptor).ok()
    }

    fn memory(&self, slots: u16, slot_len: u32) -> io::Result<(OwnedFd, Vec<u16>)> {
        Ok((socket::memory(u64::from(slots) * u64::from(slot_len))?, (0..slots).collect()))
    }

    fn now(&self) -> Instant {
        Instant::ORIGIN
    }

    fn sleep(&self, time: Duration) -> Boxed<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn salt(&self) -> Option<[u8; 32]> {
        Some([7; 32])
    }

    fn system_time(&self) -> u64 {
        0
    }

    fn log(&self, _: Log) {}
}

/// Where a broker listens, in a folder that goes with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("smbd-broker-{}-{nth}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// Attends to all owners that come.
    fn open(&self, settings: Settings) -> Hub<Host> {
        let hub = Hub::new(Broker::new(settings, 42).unwrap(), Host);
        let (listener, attending) = (UnixListener::bind(&self.path()).unwrap(), hub.clone());
        tokio::spawn(async move {
            while let Ok(socket) = listener.accept().await {
                tokio::spawn(attend(attending.clone(), socket));
            }
        });
        hub
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), work).await.expect("it ends") })
}

fn refused<T: std::fmt::Debug>(result: Result<T, CallError>) -> Refusal {
    match result.unwrap_err() {
        CallError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

fn slots() -> Settings {
    let limits = Limits { slot_len: 4096, ..Settings::default().limits };
    Settings { limits, ..Settings::default() }
}

#[test]
fn an_owner_begins_with_eight_slots_and_gets_more_when_they_are_too_few_up_to_its_limit() {
    run(async {
        let place = Place::new();
        let _hub = place.open(slots());
        let (broker, _incoming) = connect(&place.path(), "test").await.unwrap();
        assert_eq!((broker.welcome().instance, broker.slots().count()), (42, (8, 8)));
        let take = |len: u64| std::future::poll_fn(move |cx| broker.slots().poll_take(cx, len));
        let mut held = take(64 * 4096 - 1).await.unwrap();
        assert_eq!((held.len(), held[0].len, held[63].len), (64, 4096, 4095));
        held.sort_by_key(|area| area.slot);
        assert!(held.iter().map(|area| area.slot).eq(0..64), "{held:?}");
    });
}

#[test]
fn an_owner_gets_what_a_quota_leaves_and_hears_at_once_when_a_transfer_will_never_fit() {
    run(async {
        let place = Place::new();
        let settings = slots();
        let quotas = Quotas { memory_max: 13 * 4096, ..settings.quotas };
        let _hub = place.open(Settings { quotas, ..settings });
        let (broker, _incoming) = connect(&place.path(), "test").await.unwrap();
        let slots = broker.slots();
        let take = |len: u64| std::future::poll_fn(move |cx| slots.poll_take(cx, len));
        let few = |len, slots| TooFewSlots { len, slots, slot_len: 4096 };
        // The broker is not asked for this.
        assert_eq!(take(64 * 4096 + 1).await, Err(few(64 * 4096 + 1, 64)));
        assert_eq!(slots.count(), (8, 8));
        assert_eq!(take(13 * 4096 + 1).await, Err(few(13 * 4096 + 1, 13)));
        let held = take(13 * 4096).await.unwrap();
        assert_eq!(slots.count(), (13, 0));
        // What will be there is waited for.
        let (mut more, mut given) = (Box::pin(take(4096)), false);
        let waited = std::future::poll_fn(|cx| {
            let taken = more.as_mut().poll(cx);
            assert!(taken.is_ready() == given, "{taken:?}");
            if !std::mem::replace(&mut given, true) {
                slots.give(&held);
            }
            taken
        });
        assert_eq!(waited.await.unwrap().len(), 1);
    });
}

#[test]
fn what_is_written_to_a_slot_is_read_from_it_and_nowhere_else() {
    run(async {
        let place = Place::new();
        let _hub = place.open(slots());
        let (broker, _incoming) = connect(&place.path(), "test").await.unwrap();
        let slots = broker.slots();
        let mut taken = std::future::poll_fn(|cx| slots.poll_take(cx, 3 * 4096)).await.unwrap();
        let bytes: Vec<u8> = (0..3 * 4096_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        slots.fill(&taken, &bytes).unwrap();
        let mut back = Vec::new();
        slots.read(&taken, &mut back).unwrap();
        assert!(back == bytes);
        let mut other = Vec::new();
        let free = std::future::poll_fn(|cx| slots.poll_take(cx, 4096)).await.unwrap();
        slots.read(&free, &mut other).unwrap();
        assert!(other.iter().all(|byte| *byte == 0));
        taken[0].slot = 64;
        assert_eq!(slots.read(&taken, &mut back).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        taken[0] = smbd_broker::wire::Area { slot: 0, len: 4097 };
        assert_eq!(slots.fill(&taken, &bytes).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn what_one_owner_holds_another_cannot_until_it_is_given_up_or_its_holder_is_gone() {
    run(async {
        let place = Place::new();
        let hub = place.open(slots());
        let (one, one_incoming) = connect(&place.path(), "one").await.unwrap();
        let (other, _incoming) = connect(&place.path(), "other").await.unwrap();
        let guid = Guid([3; 16]);
        one.set_session_id(7, true).await.unwrap();
        one.set_client_guid(guid, true).await.unwrap();
        one.listen(true).await.unwrap();
        assert_eq!(refused(other.set_session_id(7, true).await), Refusal::Held);
        assert_eq!(refused(other.set_session_id(7, false).await), Refusal::NotHeld);
        assert_eq!(refused(other.set_client_guid(guid, true).await), Refusal::Held);
        assert_eq!(refused(other.listen(true).await), Refusal::Taken);
        one.set_session_id(7, false).await.unwrap();
        other.set_session_id(7, true).await.unwrap();
        drop((one, one_incoming));
        // The broker hears of it some time later.
        while hub.look(Broker::owners) > 1 {
            tokio::task::yield_now().await;
        }
        other.set_client_guid(guid, true).await.unwrap();
        other.listen(true).await.unwrap();
        assert_eq!(hub.look(Broker::memory), 8 * 4096);
    });
}

#[test]
fn a_broker_that_is_full_refuses_the_next_owner_and_takes_it_when_another_has_left() {
    run(async {
        let place = Place::new();
        let hub = place.open(Settings { quotas: Quotas { owners_max: 1, ..Quotas::default() }, ..slots() });
        let one = connect(&place.path(), "one").await.unwrap();
        assert!(connect(&place.path(), "two").await.is_err());
        drop(one);
        while hub.look(Broker::owners) > 0 {
            tokio::task::yield_now().await;
        }
        connect(&place.path(), "two").await.unwrap();
    });
}

#[test]
fn memory_of_all_owners_has_one_limit() {
    run(async {
        let place = Place::new();
        let _hub =
            place.open(Settings { quotas: Quotas { memory_max: 12 * 4096, ..Quotas::default() }, ..slots() });
        let _one = connect(&place.path(), "one").await.unwrap();
        assert_eq!(refused(connect(&place.path(), "two").await), Refusal::Quota);
    });
}

#[test]
fn a_packet_that_is_wrong_ends_its_owner_with_a_reason_and_no_other() {
    run(async {
        let place = Place::new();
        let _hub = place.open(slots());
        let (broker, _incoming) = connect(&place.path(), "sound").await.unwrap();
        let mut socket = UnixPackets::connect(&place.path()).unwrap();
        std::future::poll_fn(|cx| socket.poll_send(cx, b"no packet", None)).await.unwrap();
        let mut packet = PacketBuffer::new();
        std::future::poll_fn(|cx| socket.poll_receive(cx, &mut packet)).await.unwrap();
        let said = String::from_utf8_lossy(packet.bytes());
        assert!(said.contains("Length of packet is"), "{said}");
        let end = std::future::poll_fn(|cx| socket.poll_receive(cx, &mut packet)).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        broker.listen(true).await.unwrap();
    });
}

#[test]
fn only_the_socket_of_a_connection_can_be_attached() {
    run(async {
        let place = Place::new();
        let _hub = place.open(slots());
        let (broker, _incoming) = connect(&place.path(), "test").await.unwrap();
        let newcomer = || Newcomer {
            connection: 1,
            rule: Rule::Default,
            is_negotiated: false,
            max_send_size: 1024,
            max_read_write_size: 1 << 20,
            peer: String::new(),
        };
        let (foreign, _other) = socket::pair().unwrap();
        assert_eq!(refused(broker.attach(foreign, newcomer()).await), Refusal::NotASocket);
        assert_eq!(refused(broker.attach(socket::memory(1).unwrap(), newcomer()).await), Refusal::NotASocket);
    });
}

#[test]
fn owners_hear_when_the_broker_is_gone() {
    run(async {
        let place = Place::new();
        let (one, other) = socket::pair().unwrap();
        drop((one, other));
        assert!(matches!(connect(&place.path(), "test").await, Err(CallError::Socket(_))));
        let listener = UnixListener::bind(&place.path()).unwrap();
        let hub = Hub::new(Broker::new(slots(), 1).unwrap(), Host);
        let attending = tokio::spawn(async move { attend(hub, listener.accept().await.unwrap()).await });
        let (broker, mut incoming) = connect(&place.path(), "test").await.unwrap();
        attending.abort();
        assert!(incoming.next().await.is_none());
        assert!(matches!(broker.listen(true).await, Err(CallError::Gone)));
    });
}
