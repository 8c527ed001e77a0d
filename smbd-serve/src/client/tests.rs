use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use smbd_smb2::security::{Credentials, NtHash};
use smbd_smb2::server::{
    Attributes, BasicChange, Change, Completion, Done, Entry, FileResult, FileSystem, Handle, OpenParameters,
    Operation, OperationId, Params, ReadBuffer, Reason, Server, Share, SharePath, TimeChange, Volume,
    WriteData,
};
use smbd_smb2::wire::{
    AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, Guid, LockElement, LockFlags,
    NtStatus, ShareAccess, Text,
};
use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::carry::{OfFile, carry_out, lock, soon};
use super::group::admit;
use super::host::Host;
use super::inbox::{Inbox, JOINING_MAX, REPLACED_MAX, Told};
use super::member::{End, First, Newcomer};
use super::named::look;
use super::serve::serve;
use crate::folder::{self, Act, Folder};
use crate::link::{Channel, Data};
use crate::read_only::{About, ReadOnly, Source};
use crate::served::Served;
use bytes::Bytes;
use smbd_client::{Remote, Settings};
use smbd_link::tcp::Tcp;
use smbd_link::time::TokioTime;
use smbd_link::transport::{Heap, Memory as _};

const DRAIN: Duration = Duration::from_secs(5);

/// A share of a folder of the test's own.
struct Rig {
    path: PathBuf,
    host: Arc<Host>,
    stop: watch::Sender<bool>,
}

impl Rig {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("smbd-serve-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let mut params = Params::new(Guid([7; 16]), "SERVER");
        params.shares = vec![Share::new("data")];
        let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("right"));
        let server = Arc::new(Server::new(params, accounts).unwrap());
        let folder = Folder::open(&path, "data", folder::Options::default()).unwrap();
        Self { path, host: Arc::new(Host::new(server, vec![folder])), stop: watch::channel(false).0 }
    }

    /// A client's stream, and what serves it.
    fn stream(&self) -> (DuplexStream, JoinHandle<End>) {
        let (here, there) = duplex(1 << 16);
        let link = Tcp::over(there).receiving(9 << 20);
        let served = serve(Arc::clone(&self.host), link, self.stop.subscribe(), DRAIN, |_| {});
        (here, tokio::spawn(served))
    }

    fn remote(&self) -> (Remote, JoinHandle<End>) {
        let (here, served) = self.stream();
        let (remote, driver) = Remote::over(Tcp::over(here), &Settings::new("server")).unwrap();
        tokio::spawn(driver);
        (remote, served)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn tester(password: &str) -> Credentials {
    let hash = NtHash::of_password(password);
    Credentials::User { user: "tester".into(), domain: String::new(), hash }
}

#[tokio::test]
async fn what_a_client_writes_is_in_the_folder_and_nothing_is_left_of_it_when_it_has_gone() {
    let rig = Rig::new("copies");
    let (remote, served) = rig.remote();
    let share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
    let content: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = share.create("f").await.unwrap();
    file.write_at(0, content.clone().into()).await.unwrap();
    assert_eq!(file.read_at(1_000_000, 1 << 20).await.unwrap(), content[1_000_000..]);
    assert_eq!(fs::read(rig.path.join("f")).unwrap(), content);
    assert_eq!(rig.host.open_count(), 1);
    // It goes without closing its file.
    drop((file, share, remote));
    let End { why, seen } = served.await.unwrap();
    let seen = seen.unwrap();
    // It may be found out when an answer is sent.
    assert!(["the client has left", "broken pipe"].contains(&why.as_str()), "{why}");
    assert_eq!(seen.about.user.as_deref(), Some("tester"));
    assert!(seen.counts.messages_in > 2_000_000 && seen.counts.messages_out > 1_000_000);
    assert_eq!(rig.host.open_count(), 0);
}

#[tokio::test]
async fn a_wrong_password_is_refused() {
    let rig = Rig::new("password");
    let (remote, _served) = rig.remote();
    let said = remote.login(tester("wrong")).await.unwrap_err().to_string();
    assert!(said.contains("STATUS_LOGON_FAILURE"), "{said}");
}

#[tokio::test]
async fn clients_end_when_the_server_does_and_one_that_speaks_nonsense_ends_alone() {
    let rig = Rig::new("ends");
    let (remote, served) = rig.remote();
    let _share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
    let (mut stream, nonsense) = rig.stream();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let why = nonsense.await.unwrap().why;
    assert!(why.contains("StreamProtocolLength begins with 0x47"), "{why}");
    assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    rig.stop.send_replace(true);
    assert_eq!(served.await.unwrap().why, "the server ends");
}

/// Two clients with a file open, without their connections.
struct Two {
    rig: Rig,
    inboxes: [Inbox<TokioTime>; 2],
    numbers: [u64; 2],
}

const FILE: Handle = Handle(1);

fn parameters(path: &str, disposition: CreateDisposition) -> OpenParameters {
    let access = AccessMask(if disposition == CreateDisposition::OPEN { 0x0012_0089 } else { 0x001F_01FF });
    OpenParameters {
        share: 0,
        path: SharePath::parse(Text::from(path)).unwrap(),
        access,
        read_only_access: access,
        share_access: ShareAccess(7),
        disposition,
        options: CreateOptions::NONE,
        file_attributes: FileAttributes::NONE,
    }
}

impl Two {
    fn new(name: &str) -> Self {
        let rig = Rig::new(name);
        let [(first, _, inbox), (second, _, other)] = [rig.host.enter(), rig.host.enter()];
        let two = Self { rig, inboxes: [inbox, other], numbers: [first, second] };
        for at in [0, 1] {
            two.open(at, FILE, "f", CreateDisposition::OPEN_IF);
        }
        two
    }

    fn open(&self, at: usize, handle: Handle, path: &str, disposition: CreateDisposition) {
        let done = self.look(at, &Operation::Open(handle, parameters(path, disposition))).unwrap();
        assert!(matches!(done, Done::Opened { .. }), "{done:?}");
    }

    /// Carries out what looks up a path.
    fn look(&self, at: usize, operation: &Operation) -> Completion {
        let looked = look(&self.rig.host, self.numbers[at], operation, true, 0)?;
        Ok(looked.expect("who is patient has a result"))
    }

    /// Carries out an operation, and tells its client of the end. Returns whether it waits for a lock.
    fn carry_out(&self, at: usize, id: u64, operation: Operation) -> bool {
        let (host, number, id) = (&self.rig.host, self.numbers[at], OperationId(id));
        let memory: Data = Arc::new(Heap::allocate(1 << 16).unwrap());
        let completed = if let Operation::Lock(..) = operation {
            let Some(completed) = lock(host, (number, id), operation, 0) else { return true };
            completed
        } else {
            let found = OfFile::find(host, (number, id), operation, Some(memory));
            let left = found.and_then(|work| soon(host, &TokioTime::start(), number, work));
            left.map_or_else(|completed| completed, |work| carry_out(host, number, work, 0))
        };
        host.tell(number, completed);
        false
    }

    fn next(&mut self, at: usize) -> Option<(u64, Completion)> {
        match self.inboxes[at].try_recv()? {
            Told::Completed(completed) => Some((completed.id.0, completed.completion)),
            _ => panic!("something else is told"),
        }
    }

    fn lock(&mut self, at: usize, id: u64) -> bool {
        let range = LockElement { offset: 0, length: 10, flags: LockFlags::EXCLUSIVE_LOCK };
        self.carry_out(at, id, Operation::Lock(FILE, vec![range]))
    }
}

#[test]
fn a_lock_waits_until_another_client_unlocks_or_goes() {
    for unlocks in [true, false] {
        let mut two = Two::new("locks");
        assert!(!two.lock(0, 2));
        assert_eq!(two.next(0), Some((2, Ok(Done::Nothing))));
        assert!(two.lock(1, 3));
        assert!(two.next(1).is_none());
        if unlocks {
            let range = LockElement { offset: 0, length: 10, flags: LockFlags::UNLOCK };
            two.carry_out(0, 4, Operation::Unlock(FILE, vec![range]));
        } else {
            two.rig.host.leave(two.numbers[0], 0);
        }
        assert_eq!(two.next(1), Some((3, Ok(Done::Nothing))));
    }
}

/// Something that the disk does for a client.
fn slow(act: Act) -> Operation {
    let path = SharePath::parse(Text::from("other")).unwrap();
    match act {
        Act::Rename => Operation::Change(FILE, Change::Rename { path, replace: false }),
        Act::Delete => Operation::Close { handle: Handle(2), wants_attributes: false },
        Act::Truncate => Operation::Change(FILE, Change::EndOfFile(1)),
        Act::Attributes => {
            let change =
                BasicChange { last_write_time: Some(TimeChange::Set(1 << 56)), ..BasicChange::default() };
            Operation::Change(FILE, Change::Basic(change))
        }
        Act::Open => unreachable!("opened by name"),
    }
}

#[test]
fn while_one_client_waits_for_the_disk_another_reads_writes_locks_opens_and_closes() {
    for act in [Act::Open, Act::Truncate, Act::Rename, Act::Delete, Act::Attributes] {
        let two = Arc::new(Two::new(&format!("slow-{act:?}")));
        // Another name, so that it does not stand in the way of the rename.
        two.open(0, Handle(2), "going", CreateDisposition::CREATE);
        two.carry_out(0, 2, Operation::Change(Handle(2), Change::Delete(true)));
        fs::create_dir(two.rig.path.join("directory")).unwrap();
        let slow_disk = two.rig.host.share(0).unwrap().slow;
        slow_disk.stop_at(act);
        let first = {
            let two = Arc::clone(&two);
            std::thread::spawn(move || match act {
                Act::Open => two.open(0, Handle(3), "new", CreateDisposition::CREATE),
                Act::Rename => _ = two.look(0, &slow(act)).unwrap(),
                _ => _ = two.carry_out(0, 3, slow(act)),
            })
        };
        slow_disk.reached();
        let (done, is_done) = std::sync::mpsc::channel();
        let other = {
            let two = Arc::clone(&two);
            std::thread::spawn(move || {
                let range = |flags| vec![LockElement { offset: 0, length: 10, flags }];
                let data = WriteData::Bytes(Bytes::from_static(b"data"));
                two.carry_out(1, 2, Operation::ReadChannel { handle: FILE, offset: 0, len: 10 });
                two.carry_out(
                    1,
                    3,
                    Operation::Write { handle: FILE, offset: 0, data, through: true, append_only: false },
                );
                two.carry_out(1, 4, Operation::Lock(FILE, range(LockFlags::EXCLUSIVE_LOCK)));
                two.carry_out(1, 5, Operation::Unlock(FILE, range(LockFlags::UNLOCK)));
                two.open(1, Handle(2), "directory\\new", CreateDisposition::CREATE);
                two.carry_out(1, 6, Operation::Close { handle: Handle(2), wants_attributes: true });
                drop(two);
                done.send(()).unwrap();
            })
        };
        is_done.recv_timeout(DRAIN).unwrap_or_else(|_| panic!("{act:?} stops another client"));
        assert!(!first.is_finished(), "{act:?}");
        slow_disk.go_on();
        first.join().unwrap();
        other.join().unwrap();
        let mut two = Arc::into_inner(two).unwrap();
        for at in [0, 1] {
            while let Some((id, completion)) = two.next(at) {
                assert!(completion.is_ok(), "{act:?}, {id}: {completion:?}");
            }
        }
    }
}

#[test]
fn a_lock_of_another_client_keeps_data_that_go_by_rdma_away_as_well() {
    let mut two = Two::new("channel");
    assert!(!two.lock(0, 2));
    two.carry_out(1, 3, Operation::ReadChannel { handle: FILE, offset: 0, len: 10 });
    assert_eq!(two.next(1), Some((3, Err(NtStatus::FILE_LOCK_CONFLICT))));
    two.carry_out(1, 4, Operation::ReadChannel { handle: FILE, offset: 10, len: 10 });
    let Some(Told::Completed(completed)) = two.inboxes[1].try_recv() else { panic!("nothing is told") };
    assert_eq!((completed.completion, completed.data.is_some()), (Ok(Done::Count(0)), true));
}

/// A source in memory, or on a disk.
#[derive(Clone)]
struct Bytes3 {
    is_quick: bool,
}

impl Source for Bytes3 {
    /// Whether it is the file.
    type Node = bool;

    fn root(&self) -> bool {
        false
    }

    fn is_quick(&self) -> bool {
        self.is_quick
    }

    fn child(&self, _: &bool, _: &str) -> io::Result<Option<bool>> {
        Ok(Some(true))
    }

    fn names(&self, _: &bool) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn about(&self, is_file: &bool) -> io::Result<About> {
        Ok(About { id: 1, len: is_file.then_some(3), modified: SystemTime::UNIX_EPOCH })
    }

    fn read(&self, _: &bool, _: u64, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(3);
        into[..count].copy_from_slice(&b"abc"[..count]);
        Ok(count)
    }
}

/// A file system that finds out too late that a read has to wait.
#[derive(Clone)]
struct Hesitant(ReadOnly<Bytes3>);

impl FileSystem for Hesitant {
    type File = bool;

    fn open(&mut self, how: &OpenParameters, now: u64) -> FileResult<(bool, CreateAction)> {
        self.0.open(how, now)
    }

    fn attributes(&self, file: &bool) -> FileResult<Attributes> {
        self.0.attributes(file)
    }

    fn read(&mut self, file: &bool, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        self.0.read(file, offset, into)
    }

    fn list(&mut self, file: &bool, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        self.0.list(file, after, max)
    }

    fn volume(&self) -> Volume {
        self.0.volume()
    }
}

impl Served for Hesitant {
    fn read_soon(&mut self, _: &bool, _: u64, into: &mut ReadBuffer) -> FileResult<Option<usize>> {
        into.space().fill(7);
        Ok(None)
    }
}

#[test]
fn a_read_that_waits_for_a_thread_has_no_memory() {
    let server = Arc::clone(Rig::new("hesitant").host.server());
    let files = Hesitant(ReadOnly::new(Bytes3 { is_quick: false }, "memory"));
    let host: Host<_> = Host::new(server, vec![files]);
    let (number, ..) = host.enter();
    look(&host, number, &Operation::Open(FILE, parameters("f", CreateDisposition::OPEN)), true, 0).unwrap();
    let read = Operation::Read { handle: FILE, offset: 0, buffer: ReadBuffer::with_len(4096) };
    let work = OfFile::find(&host, (number, OperationId(1)), read, None);
    let work = work.and_then(|work| soon(&host, &TokioTime::start(), number, work)).ok().unwrap();
    assert!(matches!(work.operation(), Operation::Read { buffer, .. } if buffer.held() == 0));
    let Ok(Done::Read(mut buffer)) = carry_out(&host, number, work, 0).completion else { panic!("not read") };
    assert_eq!(buffer.space(), b"abc");
}

#[test]
fn operations_of_a_file_system_in_memory_take_no_thread_unless_they_move_much_or_list_names() {
    for is_quick in [false, true] {
        let server = Arc::clone(Rig::new(&format!("quick-{is_quick}")).host.server());
        let host: Host<_> = Host::new(server, vec![ReadOnly::new(Bytes3 { is_quick }, "memory")]);
        let (number, ..) = host.enter();
        let opened =
            look(&host, number, &Operation::Open(FILE, parameters("f", CreateDisposition::OPEN)), true, 0);
        assert!(matches!(opened, Ok(Some(Done::Opened { .. }))), "{opened:?}");
        let is_soon = |operation| {
            let memory: Data = Arc::new(Heap::allocate(1 << 17).unwrap());
            let work = OfFile::find(&host, (number, OperationId(1)), operation, Some(memory));
            soon(&host, &TokioTime::start(), number, work.ok().unwrap()).is_err()
        };
        let read = |len| Operation::ReadChannel { handle: FILE, offset: 0, len };
        assert_eq!(is_soon(read(64 << 10)), is_quick);
        assert!(!is_soon(read((64 << 10) + 1)), "others wait while so much is copied");
        assert_eq!(is_soon(Operation::Attributes(FILE)), is_quick);
        assert!(!is_soon(Operation::List { handle: FILE, after: 0, max: 1 }));
        // Nothing on a disk is asked for.
        assert!(is_soon(Operation::Unlock(FILE, Vec::new())));
        assert_eq!(is_soon(Operation::Close { handle: FILE, wants_attributes: true }), is_quick);
    }
}

#[tokio::test]
async fn clients_go_on_while_others_wait_until_a_large_directory_is_read() {
    let rig = Rig::new("large");
    for at in 0..1100 {
        fs::write(rig.path.join(format!("f{at}")), b"abc").unwrap();
    }
    let reading = rig.host.reading();
    let all = reading.acquire_many(reading.available_permits().try_into().unwrap()).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let (remote, _served) = rig.remote();
        let share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
        waiting.push(tokio::spawn(async move { share.open("NONE").await.map(|_| ()) }));
    }
    let (remote, _served) = rig.remote();
    let share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
    let file = share.open("f7").await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), b"abc"[..]);
    assert!(waiting.iter().all(|open| !open.is_finished()));
    drop(all);
    for open in waiting {
        let said = open.await.unwrap().unwrap_err().to_string();
        assert!(said.contains("STATUS_OBJECT_NAME_NOT_FOUND"), "{said}");
    }
}

#[tokio::test]
async fn clients_go_on_while_others_list_directories_and_these_wait_for_their_turn() {
    let rig = Rig::new("listed");
    fs::write(rig.path.join("f"), b"abc").unwrap();
    let reading = rig.host.reading();
    let all = reading.acquire_many(reading.available_permits().try_into().unwrap()).await.unwrap();
    let (remote, _served) = rig.remote();
    let share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
    let listing = tokio::spawn(async move { share.list("").await.map(|entries| entries.len()) });
    let (remote, _served) = rig.remote();
    let share = remote.login(tester("right")).await.unwrap().connect("data").await.unwrap();
    for _ in 0..20 {
        let file = share.open("f").await.unwrap();
        assert_eq!(file.read_at(0, 10).await.unwrap(), b"abc"[..]);
    }
    assert!(!listing.is_finished());
    drop(all);
    assert_eq!(listing.await.unwrap().unwrap(), 1);
}

#[test]
fn a_session_that_is_replaced_is_told_to_all_others() {
    let mut two = Two::new("replaced");
    two.rig.host.replaced(two.numbers[0], 9, &"tester".into());
    let [own, other] = &mut two.inboxes;
    assert!(own.try_recv().is_none());
    let told = other.try_recv();
    assert!(matches!(told, Some(Told::Replaced { session_id: 9, user }) if &*user == "tester"));
}

/// A connection whose first message is none, and its end.
fn newcomer() -> (Box<Newcomer<TokioTime>>, oneshot::Receiver<End>) {
    let (ended, end) = oneshot::channel();
    let (around, first) = (TokioTime::start(), First::Past(Bytes::new()));
    let link = Box::new(Channel::new(Tcp::over(duplex(1).0), around));
    (Box::new(Newcomer { around, link, first, news: Box::new(|_| {}), ended }), end)
}

#[tokio::test]
async fn connections_of_a_client_that_nobody_takes_are_refused_beyond_a_limit() {
    let (rig, guid) = (Rig::new("joining"), Some(Guid([3; 16])));
    let give = || {
        let (newcomer, end) = newcomer();
        (rig.host.give(guid, newcomer), end)
    };
    let (mut first, _end) = give();
    assert!(first.is_some());
    let waiting: Vec<_> = (0..JOINING_MAX).map(|_| give()).collect();
    assert!(waiting.iter().all(|(given, _)| given.is_none()));
    let (given, end) = give();
    assert!(given.is_none());
    assert_eq!(end.await.unwrap().why, "64 other connections of the client wait to be taken");
    // With room again, it waits.
    let opening = first.as_mut().unwrap();
    assert!(matches!(opening.inbox.try_recv(), Some(Told::Joined(_))));
    assert!(give().1.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
    // A client that is about to leave takes none; the next is the first of another one.
    rig.host.forget(guid, opening.number.wrapping_add(1));
    assert!(give().0.is_none(), "another client has left");
    rig.host.forget(guid, opening.number);
    assert!(give().0.is_some());
}

#[tokio::test]
async fn a_connection_that_comes_when_its_client_ends_is_the_first_of_another_one() {
    let (rig, guid, stop) = (Rig::new("late"), Some(Guid([3; 16])), watch::channel(false).1);
    let [(first, first_end), (second, second_end)] = [newcomer(), newcomer()];
    // Neither is looked at before this task waits, and the first message ends the client.
    admit(&rig.host, guid, first, &stop, DRAIN);
    admit(&rig.host, guid, second, &stop, DRAIN);
    let why = first_end.await.unwrap().why;
    assert_eq!(second_end.await.unwrap().why, why);
    // Nothing is left of either.
    assert!(rig.host.give(guid, newcomer().0).is_some());
}

#[test]
fn sessions_that_are_replaced_wait_for_a_client_up_to_a_limit_behind_which_it_ends() {
    let mut two = Two::new("full");
    let replace = |two: &Two, count: usize| {
        (0..count)
            .for_each(|session| two.rig.host.replaced(two.numbers[0], session as u64, &"tester".into()));
    };
    replace(&two, REPLACED_MAX);
    // With room again, others wait.
    assert!(two.inboxes[1].try_recv().is_some());
    replace(&two, REPLACED_MAX);
    let told: Vec<_> = std::iter::from_fn(|| two.inboxes[1].try_recv()).collect();
    let (last, all) = told.split_last().unwrap();
    assert_eq!(all.len(), REPLACED_MAX);
    assert!(all.iter().all(|told| matches!(told, Told::Replaced { .. })) && matches!(last, Told::Overrun));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_log_in_is_ended_by_the_monotonic_clock() {
    let (rig, began) = (Rig::new("clock"), Instant::now());
    let (_remote, served) = rig.remote();
    // The time of the day stands still, as good as: nobody waits for it.
    assert_eq!(served.await.unwrap().why, Reason::SetupTimeout.to_string());
    let limit = Duration::from_nanos(rig.host.server().params().setup_timeout * 100);
    let took = began.elapsed();
    assert!((limit..limit + Duration::from_secs(1)).contains(&took), "{took:?}");
}
