//! The example: a server in C, built with all warnings and with sanitizers, against a broker and a client that do what the test says.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use smbd_broker::wire::{Age, Call, Command as Order, Direction, Event, Newcomer, PIECE_MAX};
use smbd_testkit::script::{End, Owner, Place, newcomer};

/// The library for C that belongs to this test, under the name by which programs look for it, in `folder`. It is the shared one: the archive
/// lacks what the broker needs of RDMA when that is built along with it.
fn library(folder: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2).map(|folder| folder.join("libsmbd_broker_c.so"));
    let built = folders
        .filter(|path| path.is_file())
        .max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap())
        .unwrap();
    let library = folder.join("libsmbd-broker.so.0");
    let _ = fs::remove_file(&library);
    symlink(built, &library).unwrap();
    library
}

/// The example, built once.
fn built() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build)
}

fn build() -> PathBuf {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources =
        fs::read_dir(root.join("examples/readonly-server")).unwrap().map(|entry| entry.unwrap().path());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("readonly-server");
    let said = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-O1", "-g"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .arg(format!("-I{}", root.join("include").display()))
        .args(sources.filter(|path| path.extension().is_some_and(|is| is == "c")))
        .arg(library(folder))
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} cannot be run ({error}): `./test packages` installs gcc"));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    program
}

/// The server, attached, and the broker's end of it.
struct Server {
    child: Child,
    owner: Owner,
    place: Place,
    folder: PathBuf,
}

impl Server {
    fn start() -> Self {
        let place = Place::listening();
        let root = place.path().parent().unwrap().to_owned();
        let program = built();
        let folder = root.join("share");
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(folder.join("inner/small"), "hello").unwrap();
        fs::write(root.join("secret"), "not shared").unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        let child = Command::new(program)
            .arg(place.path())
            .arg("share")
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut owner = place.welcome();
        assert_eq!(owner.done(), Call::Listen { is_on: true });
        Self { child, owner, place, folder }
    }

    fn client(&mut self) -> Client {
        let newcomer = Newcomer { max_send_size: 200_000, ..newcomer(1) };
        Client {
            end: self.owner.connection(newcomer),
            message_id: 0,
            session_id: 0,
            tree: 0,
            answers: VecDeque::new(),
        }
    }

    /// It has ended in good order, and the sanitizers have found nothing.
    fn ends(mut self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert!(self.child.wait().unwrap().success());
        drop(self.place);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end.tell(&[Event::Lost { why: "the test is over".into() }]);
    }
}

/// A client of SMB2, with the broker between it and the server.
struct Client {
    end: End,
    message_id: u64,
    session_id: u64,
    tree: u32,
    answers: VecDeque<Answer>,
}

#[derive(Clone, Debug)]
struct Answer {
    bytes: Vec<u8>,
    token: Option<u32>,
}

impl Answer {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn status(&self) -> u32 {
        self.u32(8)
    }

    /// The commands of a compound answer.
    fn parts(&self) -> Vec<Self> {
        let (mut at, mut parts) = (0, Vec::new());
        loop {
            let next = u32::from_le_bytes(self.bytes[at + 20..at + 24].try_into().unwrap()) as usize;
            let end = if next == 0 { self.bytes.len() } else { at + next };
            parts.push(Self { bytes: self.bytes[at..end].to_vec(), token: self.token });
            if next == 0 {
                return parts;
            }
            at += next;
        }
    }
}

const RELATED: u32 = 4;
const ALL_ONES: [u8; 16] = [0xFF; 16];

impl Client {
    /// A request with its header.
    fn request(&mut self, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = b"\xFESMB\x40\0\x01\0".to_vec();
        bytes.extend([0; 4]);
        bytes.extend(command.to_le_bytes());
        bytes.extend(8_u16.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.message_id.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.tree.to_le_bytes());
        bytes.extend(self.session_id.to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(body);
        self.message_id += 1;
        bytes
    }

    fn send(&mut self, message: &[u8]) {
        let mut remaining = message.len();
        for bytes in message.chunks(PIECE_MAX) {
            remaining -= bytes.len();
            let remaining = u32::try_from(remaining).unwrap();
            self.end.tell(&[Event::Received { remaining, age: Age::New, bytes }]);
        }
    }

    /// The next answer. RDMA is given to `rdma`, which says what came of it. `None` when the server has closed the connection.
    fn answer(&mut self, rdma: &mut dyn FnMut(u64, &smbd_broker::wire::Transfer) -> bool) -> Option<Answer> {
        let mut begun = Vec::new();
        while self.answers.is_empty() {
            let (mut done, mut sent) = (Vec::new(), 0);
            let answers = &mut self.answers;
            let is_open = self.end.orders(&mut |order| match order {
                Order::Send { remaining, invalidate, bytes } => {
                    begun.extend_from_slice(bytes);
                    if remaining == 0 {
                        let token = invalidate.map(|token| token.0);
                        answers.push_back(Answer { bytes: std::mem::take(&mut begun), token });
                        sent += 1;
                    }
                }
                Order::Rdma { tag, transfer } => done.push((tag, rdma(tag, &transfer))),
                Order::Taken { .. } => {}
                Order::Disconnect { .. } => panic!("it does not do that"),
            });
            if !is_open {
                return None;
            }
            for (tag, is_success) in done {
                self.end.tell(&[Event::RdmaDone { tag, is_success }]);
            }
            if sent > 0 {
                self.end.tell(&[Event::Sent { count: sent }]);
            }
        }
        self.answers.pop_front()
    }

    fn ask(&mut self, command: u16, body: &[u8]) -> Answer {
        let request = self.request(command, 0, body);
        self.send(&request);
        self.answer(&mut |_, _| panic!("no RDMA")).unwrap()
    }

    fn negotiate(&mut self) -> Answer {
        let mut body = vec![36, 0, 4, 0, 1, 0, 0, 0];
        body.resize(36, 0);
        body.extend([0x10, 2, 0, 3, 2, 3, 0x11, 3]);
        self.ask(0, &body)
    }

    fn setup(&mut self, token: &[u8]) -> Answer {
        let mut body = vec![25, 0, 0, 1];
        body.resize(12, 0);
        body.extend([64 + 24, 0, u8::try_from(token.len()).unwrap(), 0]);
        body.resize(24, 0);
        body.extend(token);
        self.ask(1, &body)
    }

    /// Logs in, as a guest.
    fn login(&mut self) {
        self.negotiate();
        let challenge = self.setup(b"NTLMSSP\0\x01\0\0\0");
        assert_eq!(challenge.status(), 0xC000_0016);
        self.session_id = challenge.u64(40);
        assert_eq!(self.setup(b"NTLMSSP\0\x03\0\0\0").status(), 0);
    }

    fn connect(&mut self, path: &str) -> Answer {
        let path: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut body = vec![9, 0, 0, 0, 72, 0, u8::try_from(path.len()).unwrap(), 0];
        body.extend(&path);
        self.ask(3, &body)
    }

    fn mount(&mut self) {
        self.login();
        let connected = self.connect("\\\\host\\Share");
        assert_eq!(connected.status(), 0);
        self.tree = connected.u32(36);
    }

    fn open(&mut self, name: &str, access: u32, disposition: u32) -> Answer {
        let body = create(name, access, disposition);
        self.ask(5, &body)
    }
}

const READ_DATA: u32 = 1;
const OPEN: u32 = 1;

fn create(name: &str, access: u32, disposition: u32) -> Vec<u8> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut body = vec![57, 0];
    body.resize(24, 0);
    body.extend(access.to_le_bytes());
    body.extend([0; 8]);
    body.extend(disposition.to_le_bytes());
    body.extend([0; 4]);
    body.extend([120, 0]);
    body.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    body.resize(56, 0);
    body.extend(name);
    body
}

fn read(id: &[u8], offset: u64, length: u32, channel: u32, descriptors: &[u8]) -> Vec<u8> {
    let mut body = vec![49, 0, 0, 0];
    body.extend(length.to_le_bytes());
    body.extend(offset.to_le_bytes());
    body.extend(id);
    body.extend([0; 4]);
    body.extend(channel.to_le_bytes());
    body.extend([0; 4]);
    body.extend([112, 0]);
    body.extend(u16::try_from(descriptors.len()).unwrap().to_le_bytes());
    body.extend(descriptors);
    body
}

fn id_of(created: &Answer) -> Vec<u8> {
    assert_eq!(created.status(), 0);
    created.bytes[64 + 64..64 + 80].to_vec()
}

#[test]
fn a_guest_logs_in_and_finds_one_share_from_which_nothing_leads_out_and_in_which_nothing_is_written() {
    let mut server = Server::start();
    let mut client = server.client();
    assert_eq!(client.ask(13, &[4, 0, 0, 0]).status(), 0xC000_000D);
    let negotiated = client.negotiate();
    assert_eq!((negotiated.status(), negotiated.bytes[68..70].to_vec()), (0, vec![2, 3]));
    client = server.client();
    client.login();
    assert_eq!(client.connect("\\\\host\\other").status(), 0xC000_00CC);
    client.tree = 1;
    assert_eq!(client.open("", READ_DATA, OPEN).status(), 0xC000_00C9);
    client = server.client();
    client.mount();
    assert_eq!(client.open("inner\\small", READ_DATA, OPEN).status(), 0);
    for (name, status) in [
        ("none", 0xC000_0034_u32),
        ("..\\secret", 0xC000_0022),
        ("inner\\..\\..\\secret", 0xC000_0022),
        ("link", 0xC000_0022),
        ("\\etc", 0xC000_0033),
        ("inner/small", 0xC000_0033),
        ("inner\\small\\x", 0xC000_003A),
    ] {
        assert_eq!(client.open(name, READ_DATA, OPEN).status(), status, "{name}");
    }
    for (access, disposition) in
        [(2, OPEN), (0x4000_0000, OPEN), (0x1_0000, OPEN), (READ_DATA, 5), (READ_DATA, 0)]
    {
        let refused = client.open("inner\\small", access, disposition);
        assert_eq!(refused.status(), 0xC000_00A2, "{access:x} {disposition}");
    }
    assert_eq!(client.open("new", READ_DATA, 2).status(), 0xC000_00A2);
    assert_eq!(client.open("inner", READ_DATA, 2).status(), 0xC000_0035);
    assert!(!server.folder.join("new").exists());
    drop(client);
    server.ends();
}

#[test]
fn files_are_read_in_messages_and_by_rdma_byte_for_byte() {
    let mut server = Server::start();
    let bytes: Vec<u8> = (0..300_001_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    fs::write(server.folder.join("large"), &bytes).unwrap();
    let mut client = server.client();
    client.mount();
    let small = id_of(&client.open("inner\\small", READ_DATA, OPEN));
    let answer = client.ask(8, &read(&small, 1, 100, 0, &[]));
    assert_eq!((answer.status(), &answer.bytes[80..]), (0, &b"ello"[..]));
    assert_eq!(client.ask(8, &read(&small, 5, 1, 0, &[])).status(), 0xC000_0011);

    let large = id_of(&client.open("large", READ_DATA, OPEN));
    let token = 0x1234_5678_u32;
    let descriptors = [&0_u64.to_le_bytes()[..], &token.to_le_bytes(), &(1_u32 << 20).to_le_bytes()].concat();
    // All of it, more than there is, and what is behind its end.
    for (offset, length, channel) in [(0, 300_001, 2), (299_000, 65_536, 1), (300_001, 10, 2)] {
        let request = client.request(8, 0, &read(&large, offset, length, channel, &descriptors));
        client.send(&request);
        let (owner, mut moved) = (&server.owner, Vec::new());
        let answer = client.answer(&mut |_, transfer| {
            assert_eq!((transfer.direction, transfer.offset), (Direction::Write, 0));
            assert_eq!((transfer.remote.len(), transfer.remote[0].token.0), (1, token));
            for area in &transfer.areas {
                let (file, at) = owner.place(area.slot);
                let mut part = vec![0; area.len as usize];
                File::from(file.try_clone().unwrap()).read_exact_at(&mut part, at).unwrap();
                moved.extend(part);
            }
            true
        });
        let answer = answer.unwrap();
        let rest = &bytes[usize::try_from(offset).unwrap()..];
        let expected = &rest[..rest.len().min(length as usize)];
        assert!(moved == expected, "{offset} {length}");
        assert_eq!(answer.token, (channel == 2).then_some(token));
        if expected.is_empty() {
            assert_eq!(answer.status(), 0xC000_0011);
        } else {
            assert_eq!((answer.status(), answer.u32(72) as usize), (0, expected.len()));
        }
    }
    // What the device could not move is an error.
    let request = client.request(8, 0, &read(&large, 0, 10, 2, &descriptors));
    client.send(&request);
    assert_eq!(client.answer(&mut |_, _| false).unwrap().status(), 0xC000_0185);
    // Less is open than is to be written.
    assert_eq!(client.ask(8, &read(&large, 0, (1 << 20) + 1, 2, &descriptors)).status(), 0xC000_000D);
    let mut close = vec![24, 0, 0, 0, 0, 0, 0, 0];
    close.extend(&large);
    assert_eq!(client.ask(6, &close).status(), 0);
    assert_eq!(client.ask(6, &close).status(), 0xC000_0128);
    drop(client);
    server.ends();
}

/// Requests in one message.
fn chained(requests: Vec<Vec<u8>>) -> Vec<u8> {
    let (last, mut message) = (requests.len() - 1, Vec::new());
    for (at, mut request) in requests.into_iter().enumerate() {
        if at != last {
            request.resize(request.len().next_multiple_of(8), 0);
            let next = u32::try_from(request.len()).unwrap();
            request[20..24].copy_from_slice(&next.to_le_bytes());
        }
        message.extend(request);
    }
    message
}

fn query(kind: u8, class: u8) -> Vec<u8> {
    let mut body = vec![41, 0, kind, class];
    body.extend(65_536_u32.to_le_bytes());
    body.resize(24, 0);
    body.extend(ALL_ONES);
    body
}

#[test]
fn a_related_compound_has_an_answer_for_each_part_and_fails_with_its_create() {
    let mut server = Server::start();
    let mut client = server.client();
    client.mount();
    let mut close = vec![24, 0, 0, 0, 0, 0, 0, 0];
    close.extend(ALL_ONES);
    for (name, status) in [("inner\\small", 0), ("none", 0xC000_0034)] {
        let parts = vec![
            client.request(5, 0, &create(name, READ_DATA, OPEN)),
            client.request(16, RELATED, &query(1, 5)),
            client.request(16, RELATED, &query(2, 7)),
            client.request(6, RELATED, &close),
        ];
        client.send(&chained(parts));
        let answers = client.answer(&mut |_, _| panic!("no RDMA")).unwrap().parts();
        assert_eq!(answers.len(), 4);
        assert!(answers.iter().all(|answer| answer.status() == status), "{answers:?}");
        if status == 0 {
            assert_eq!(answers[1].u64(72 + 8), 5, "EndOfFile");
        }
    }
    drop(client);
    server.ends();
}

#[test]
fn a_folder_is_listed_whole_in_pieces_and_once() {
    let mut server = Server::start();
    let mut names: Vec<String> = (0..100).map(|at| format!("file {at} \u{1F980}")).collect();
    for name in &names {
        fs::write(server.folder.join(name), "x").unwrap();
    }
    let mut client = server.client();
    client.mount();
    let folder = id_of(&client.open("", READ_DATA, OPEN));
    let mut seen = Vec::new();
    loop {
        let mut body = vec![33, 0, 38, 0, 0, 0, 0, 0];
        body.extend(&folder);
        body.extend([96, 0, 2, 0]);
        body.extend(1000_u32.to_le_bytes());
        body.extend([b'*', 0]);
        let answer = client.ask(14, &body);
        if answer.status() != 0 {
            assert_eq!(answer.status(), 0x8000_0006);
            break;
        }
        let (mut at, entries) = (0, &answer.bytes[72..]);
        loop {
            let u32_at =
                |place: usize| u32::from_le_bytes(entries[at + place..at + place + 4].try_into().unwrap());
            let name = &entries[at + 80..at + 80 + u32_at(60) as usize];
            let units = name.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            seen.push(String::from_utf16(&units.collect::<Vec<_>>()).unwrap());
            if u32_at(0) == 0 {
                break;
            }
            at += u32_at(0) as usize;
        }
    }
    // A link is not shown.
    names.extend([".", "..", "inner"].map(String::from));
    names.sort();
    seen.sort();
    assert_eq!(seen, names);
    drop(client);
    server.ends();
}

#[test]
fn whatever_a_client_says_the_server_answers_or_ends_its_connection_and_serves_the_next_one() {
    let mut server = Server::start();
    let mut chance = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        usize::try_from(chance % below as u64).unwrap()
    };
    let mut client = server.client();
    client.mount();
    let mut ended = 0;
    for _ in 0..1000 {
        let command = u16::try_from(draw(19)).unwrap();
        let mut body = match command {
            5 => create(["inner\\small", "", "inner"][draw(3)], READ_DATA, OPEN),
            8 => read(&[[1, 0, 0, 0, 0, 0, 0, 0]; 2].concat(), 0, 5, 0, &[]),
            14 => [&[33, 0, 37, 0, 0, 0, 0, 0][..], &ALL_ONES, &[96, 0, 2, 0, 0xFF, 0xFF, 0, 0, b'*', 0]]
                .concat(),
            16 => query(1 + u8::try_from(draw(2)).unwrap(), u8::try_from(draw(40)).unwrap()),
            _ => vec![u8::try_from(draw(64)).unwrap(); draw(80)],
        };
        for _ in 0..draw(4) {
            if !body.is_empty() {
                let at = draw(body.len());
                body[at] = u8::try_from(draw(256)).unwrap();
            }
        }
        let mut parts = vec![
            client.request(5, 0, &create("inner", READ_DATA, OPEN)),
            client.request(command, RELATED, &body),
        ];
        if draw(2) == 0 {
            parts.remove(0);
        }
        let mut message = chained(parts);
        if draw(8) == 0 {
            let at = draw(message.len());
            message[at] ^= 1 << draw(8);
            message.truncate(message.len() - draw(message.len().min(20)));
        }
        client.send(&message);
        let echo = client.request(13, 0, &[4, 0, 0, 0]);
        client.send(&echo);
        loop {
            match client.answer(&mut |_, _| true) {
                Some(answer) if answer.bytes[12] == 13 && answer.u64(24) == client.message_id - 1 => break,
                Some(_) => {}
                None => {
                    ended += 1;
                    client = server.client();
                    client.mount();
                    break;
                }
            }
        }
    }
    assert!(ended > 10, "{ended}");
    drop(client);
    server.ends();
}
