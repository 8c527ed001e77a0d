//! A session on several connections, of which one is lost: work goes on at the others, and nothing is done twice that may not be.

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use smbd_client::Tcp;
use smbd_client::copy::{self, Options};
use smbd_client::{Error, Remote, Session, Settings, Share};
use smbd_smb2::client::{BindError, Refused};
use smbd_smb2::wire::{Capabilities, Command, Flags, Header, NtStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

use super::server::{content, folder, settings};
use smbd_testkit::client::bindable::Says;
use smbd_testkit::client::memory::Memory;
use smbd_testkit::client::server::{Server, Setup};
use smbd_testkit::client::tape::Tape;
use smbd_testkit::tester;

/// Bytes of a piece.
const PIECE: usize = 1 << 17;

/// When a connection is lost.
#[derive(Clone, Copy, Debug)]
struct Death {
    /// With the request of this command with this number, from 1 on.
    command: Command,
    number: usize,
    /// Whether the server carries that out before.
    is_carried_out: bool,
}

/// The server's end of a connection.
#[derive(Clone)]
struct End {
    server: Rc<RefCell<Server>>,
    file: Rc<RefCell<Vec<u8>>>,
    death: Rc<RefCell<Option<Death>>>,
    has_died: Rc<Cell<bool>>,
}

impl End {
    fn new(file: &Rc<RefCell<Vec<u8>>>, setup: Setup) -> Self {
        let server = Rc::new(RefCell::new(Server::new(setup, Tape::default())));
        Self { server, file: Rc::clone(file), death: Rc::default(), has_died: Rc::default() }
    }

    /// Serves a connection until its end.
    fn serve(&self) -> Tcp<DuplexStream> {
        let (here, there) = duplex(1 << 18);
        spawn_local(self.clone().run(there));
        Tcp::over(here)
    }

    async fn run(self, mut stream: DuplexStream) {
        let (mut header, mut seen) = ([0; 4], 0);
        while stream.read_exact(&mut header).await.is_ok() {
            let mut message = vec![0; u32::from_be_bytes(header) as usize];
            if stream.read_exact(&mut message).await.is_err() {
                return;
            }
            let death = *self.death.borrow();
            let command = Header::parse(&message).map(|header| header.command);
            let counts = death.is_some_and(|death| Ok(death.command) == command);
            seen += usize::from(counts);
            let dies = death.filter(|death| counts && seen == death.number);
            self.has_died.set(dies.is_some());
            if dies.is_some_and(|death| !death.is_carried_out) {
                return;
            }
            let answers = self.receive(&message);
            if dies.is_some() {
                return;
            }
            for answer in answers {
                let framed = [&(answer.len() as u32).to_be_bytes(), &answer[..]].concat();
                if stream.write_all(&framed).await.is_err() {
                    return;
                }
            }
        }
    }

    /// All connections have one file.
    fn receive(&self, message: &[u8]) -> Vec<Vec<u8>> {
        let mut server = self.server.borrow_mut();
        server.file = self.file.take();
        server.receive(message, &mut Memory::default());
        self.file.replace(std::mem::take(&mut server.file));
        server.out.drain(..).map(|answer| answer.bytes).collect()
    }

    fn sent(&self, command: Command) -> Vec<Header> {
        let server = self.server.borrow();
        server.headers.iter().filter(|header| header.command == command).copied().collect()
    }
}

/// A session on two connections, with its share.
struct World {
    ends: [End; 2],
    session: Session,
    share: Share,
    file: Rc<RefCell<Vec<u8>>>,
}

fn setup() -> Setup {
    Setup { multi_channel: true, max_size: PIECE as u32, ..Setup::default() }
}

fn two() -> Settings {
    Settings { channels: 2, ..settings() }
}

async fn login(remote: &Remote) -> Result<Session, Error> {
    tester::login(remote, "secret").await
}

async fn second(session: &Session, ends: &[End; 2]) -> Result<(), Error> {
    let bindable = ends[0].server.borrow_mut().bindable(Says::default());
    ends[1].server.borrow_mut().on_binding = Some(bindable.on_binding());
    let (channel, driver) = session.channel(ends[1].serve()).unwrap();
    tokio::spawn(driver);
    channel.bind().await
}

impl World {
    async fn new(setup: Setup) -> Self {
        let file = Rc::default();
        let ends = [End::new(&file, setup.clone()), End::new(&file, setup)];
        let (remote, driver) = Remote::over(ends[0].serve(), &two()).unwrap();
        tokio::spawn(driver);
        let session = login(&remote).await.unwrap();
        let share = session.connect("share").await.unwrap();
        second(&session, &ends).await.unwrap();
        assert_eq!(share.connections(), (2, 0));
        Self { ends, session, share, file }
    }

    fn dies(&self, which: usize, command: Command, number: usize, is_carried_out: bool) {
        *self.ends[which].death.borrow_mut() = Some(Death { command, number, is_carried_out });
    }
}

async fn local<T>(test: impl Future<Output = T>) -> T {
    LocalSet::new().run_until(test).await
}

#[tokio::test]
async fn both_connections_of_a_session_carry_the_data_of_a_file() {
    local(async {
        let size = 8 * PIECE;
        let [plain, signed, encrypted] =
            [setup(), Setup { require_signing: true, ..setup() }, Setup { encrypt_session: true, ..setup() }];
        for setup in [plain, signed, encrypted] {
            let world = World::new(setup).await;
            let file = world.share.create("f").await.unwrap();
            let (mut writes, mut reads) = (Vec::new(), Vec::new());
            let pieces = (0..8).map(|at| at * PIECE);
            for at in pieces.clone() {
                let data = content(size)[at..at + PIECE].to_vec();
                writes.push(file.start_write(at as u64, data.into()).await.unwrap());
            }
            for write in writes {
                assert_eq!(write.wait().await, Ok(PIECE as u64));
            }
            assert!(*world.file.borrow() == content(size));
            for at in pieces {
                reads.push(file.start_read(at as u64, PIECE as u32).await.unwrap());
            }
            for (read, data) in reads.into_iter().zip(content(size).chunks(PIECE)) {
                assert!(read.wait().await.unwrap() == data);
            }
            for command in [Command::WRITE, Command::READ] {
                assert_eq!(world.ends.each_ref().map(|end| end.sent(command).len()), [4, 4]);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_copy_goes_on_wherever_one_of_two_connections_is_lost_and_each_byte_is_right() {
    local(async {
        let folder = folder("channels-lost");
        let (from, to) = (folder.join("from"), folder.join("to"));
        let (size, mut deaths) = (16 * PIECE + 1000, 0);
        fs::write(&from, content(size)).unwrap();
        for (which, number, is_carried_out) in [0, 1]
            .into_iter()
            .flat_map(|which| (1..5).flat_map(move |number| [(which, number, false), (which, number, true)]))
        {
            let context = format!("connection {which}, request {number}, carried out: {is_carried_out}");
            let world = World::new(setup()).await;
            world.dies(which, Command::WRITE, number, is_carried_out);
            copy::put(&from, &world.share, "f", Options::default(), &()).await.expect(&context);
            assert!(*world.file.borrow() == content(size), "{context}");
            if !world.ends[which].has_died.get() {
                continue;
            }
            deaths += 1;
            assert_eq!(world.share.connections(), (1, 1), "{context}");
            let other = &world.ends[1 - which];
            // 3.2.4.1, 3.2.7.1
            let writes = other.sent(Command::WRITE);
            let is_replay = |header: &&Header| header.flags.contains(Flags::REPLAY_OPERATION);
            let replays: Vec<_> = writes.iter().filter(is_replay).collect();
            assert!(
                !replays.is_empty() && replays.iter().all(|header| header.channel_sequence() == 1),
                "{context}"
            );
            assert!(writes.last().is_some_and(|header| header.channel_sequence() == 1), "{context}");
            // Of what is looked for, of the file, and of its rename.
            assert_eq!(other.sent(Command::CLOSE).len() + world.ends[which].sent(Command::CLOSE).len(), 3);

            let world = World::new(setup()).await;
            *world.file.borrow_mut() = content(size);
            world.dies(which, Command::READ, number, is_carried_out);
            copy::get(&world.share, "f", &to, Options::default(), &()).await.expect(&context);
            assert!(fs::read(&to).unwrap() == content(size), "{context}");
            let (live, lost) = if world.ends[which].has_died.get() { (1, 1) } else { (2, 0) };
            assert_eq!(world.share.connections(), (live, lost), "{context}");
        }
        // The first pieces are there always, on both.
        assert!(deaths > 8, "{deaths} of 16");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_puts_off_because_the_lost_connection_left_it_there_is_tried_again() {
    local(async {
        let world = World::new(setup()).await;
        let file = world.share.create("f").await.unwrap();
        world.dies(1, Command::WRITE, 1, true);
        let answers = vec![NtStatus::FILE_NOT_AVAILABLE; 3];
        world.ends[0].server.borrow_mut().fail.insert(Command::WRITE, answers);
        let began = Instant::now();
        // The first connection is busy with this one.
        let read = file.start_read(0, 10).await.unwrap();
        assert_eq!(file.write_at(0, content(PIECE).into()).await, Ok(()));
        assert_eq!(read.wait().await, Err(Error::Status(NtStatus::END_OF_FILE)));
        assert!(*world.file.borrow() == content(PIECE));
        assert!((1..3).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_may_take_two_minutes_to_find_out_what_is_lost_but_not_for_ever() {
    local(async {
        let world = World::new(setup()).await;
        let file = world.share.create("f").await.unwrap();
        world.dies(1, Command::WRITE, 1, true);
        let server = Rc::clone(&world.ends[0].server);
        let puts_off = || {
            server.borrow_mut().fail.insert(Command::WRITE, vec![NtStatus::FILE_NOT_AVAILABLE; 10_000]);
        };
        puts_off();
        let (began, finds_out) = (Instant::now(), Rc::clone(&server));
        // The timers of SMB Direct: 120 s of silence, 5 s for an answer.
        spawn_local(async move {
            sleep(Duration::from_secs(125)).await;
            finds_out.borrow_mut().fail.remove(&Command::WRITE);
        });
        let read = file.start_read(0, 10).await.unwrap();
        assert_eq!(file.write_at(0, content(PIECE).into()).await, Ok(()));
        assert_eq!(read.wait().await, Err(Error::Status(NtStatus::END_OF_FILE)));
        assert!(*world.file.borrow() == content(PIECE));
        assert!((125..130).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        // All that is written goes to the server with each.
        let writes = world.ends[0].sent(Command::WRITE).len();
        assert!((30..40).contains(&writes), "{writes}");

        puts_off();
        let began = Instant::now();
        let write = file.write_at(0, content(10).into()).await;
        assert_eq!(write, Err(Error::Status(NtStatus::FILE_NOT_AVAILABLE)));
        assert!((180..190).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test]
async fn without_a_lost_connection_nothing_is_put_off() {
    local(async {
        let world = World::new(setup()).await;
        let file = world.share.create("f").await.unwrap();
        for end in &world.ends {
            end.server.borrow_mut().fail.insert(Command::WRITE, vec![NtStatus::FILE_NOT_AVAILABLE]);
        }
        let write = file.write_at(0, content(10).into()).await;
        assert_eq!(write, Err(Error::Status(NtStatus::FILE_NOT_AVAILABLE)));
    })
    .await;
}

#[tokio::test]
async fn what_would_not_be_the_same_twice_fails_and_says_that_nobody_knows() {
    local(async {
        for is_carried_out in [false, true] {
            let world = World::new(setup()).await;
            world.dies(0, Command::CREATE, 1, is_carried_out);
            let why = "the server has closed the connection".into();
            let created = world.share.create("f").await.map(|_| ());
            assert_eq!(created, Err(Error::Unknown { what: "CREATE", why }));
            assert_eq!(world.ends[1].sent(Command::CREATE).len(), 0);
            // What was not begun goes to the other connection.
            world.share.create("f").await.unwrap().close().await.unwrap();
            assert_eq!(world.ends[1].sent(Command::CREATE).len(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn what_was_not_sent_on_a_connection_that_is_lost_goes_to_another_one_whatever_it_is() {
    local(async {
        // One request at a time.
        let world = World::new(Setup { credits: Some(1), ..setup() }).await;
        world.dies(0, Command::CREATE, 1, true);
        let (first, second) = tokio::join!(world.share.create("f"), world.share.create("g"));
        assert!(matches!(first, Err(Error::Unknown { what: "CREATE", .. })), "{first:?}");
        second.unwrap();
        assert_eq!(world.ends.each_ref().map(|end| end.sent(Command::CREATE).len()), [1, 1]);
    })
    .await;
}

#[tokio::test]
async fn a_file_is_opened_and_closed_again_on_the_other_connection() {
    local(async {
        for is_carried_out in [false, true] {
            let world = World::new(setup()).await;
            world.dies(0, Command::CREATE, 1, is_carried_out);
            let file = world.share.open("f").await.unwrap();
            assert_eq!(world.ends[1].sent(Command::CREATE).len(), 1);
            world.ends[1].server.borrow_mut().fail.insert(Command::CLOSE, vec![NtStatus::FILE_CLOSED]);
            assert_eq!(file.close().await, Err(Error::Status(NtStatus::FILE_CLOSED)), "nobody has closed it");

            let world = World::new(setup()).await;
            let file = world.share.open("f").await.unwrap();
            world.dies(0, Command::CLOSE, 1, is_carried_out);
            world.ends[1].server.borrow_mut().fail.insert(Command::CLOSE, vec![NtStatus::FILE_CLOSED]);
            assert_eq!(file.close().await, Ok(()));
        }
    })
    .await;
}

#[tokio::test]
async fn with_the_last_connection_the_session_ends() {
    local(async {
        let world = World::new(setup()).await;
        let file = world.share.create("f").await.unwrap();
        for which in [0, 1] {
            world.dies(which, Command::WRITE, 1, false);
        }
        let said = file.write_at(0, content(10).into()).await.unwrap_err().to_string();
        assert_eq!(said, "the connection is over: the server has closed the connection");
        assert_eq!(world.session.connections(), (0, 2));
        let said = world.share.open("f").await.unwrap_err().to_string();
        assert_eq!(said, "the connection is over: the server has closed the connection");
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_lost_can_be_replaced_twice() {
    local(async {
        let mut world = World::new(setup()).await;
        let file = world.share.create("f").await.unwrap();
        for lost in 1..4 {
            world.dies(1, Command::WRITE, 1, false);
            for at in 0..4 {
                assert_eq!(file.write_at(at * 10, content(10).into()).await, Ok(()));
            }
            assert_eq!(world.session.connections(), (1, lost));
            world.ends[1] = End::new(&world.file, setup());
            let bound = match lost {
                3 => world.session.channel(world.ends[1].serve()).unwrap().0.bind().await,
                _ => second(&world.session, &world.ends).await,
            };
            assert_eq!(bound.is_ok(), lost < 3, "{bound:?}");
        }
        let last = world.ends[0].sent(Command::WRITE).last().map(Header::channel_sequence);
        assert_eq!(last, Some(3));
    })
    .await;
}

#[tokio::test]
async fn a_session_has_no_more_connections_than_the_settings_say() {
    local(async {
        let world = World::new(setup()).await;
        let (channel, driver) = world.session.channel(End::new(&world.file, setup()).serve()).unwrap();
        let driver = tokio::spawn(driver);
        assert_eq!(channel.bind().await, Err(Error::Refused(BindError::TooMany { max: 1 }.into())));
        // It is closed.
        driver.await.unwrap();
        assert_eq!(world.session.connections(), (2, 0));
    })
    .await;
}

#[tokio::test]
async fn a_server_without_multichannel_has_no_second_connection() {
    local(async {
        let file = Rc::default();
        let end = End::new(&file, Setup { multi_channel: false, ..setup() });
        let (remote, driver) = Remote::over(end.serve(), &two()).unwrap();
        tokio::spawn(driver);
        let session = login(&remote).await.unwrap();
        let (channel, driver) = session.channel(end.serve()).unwrap();
        drop(driver);
        let refused = BindError::NoMultiChannel(Capabilities::LARGE_MTU);
        assert_eq!(channel.bind().await, Err(Error::Refused(Refused::Binding(refused))));
        assert_eq!(session.connections(), (1, 0));
    })
    .await;
}
