//! The seeds of the target `smb2_server` are requests of a client that is connected to a share.

mod common;

use smbd_smb2::wire::{
    AccessMask, Body, BufferDescriptorV1, CancelRequest, ChangeNotifyRequest, Channel, CloseRequest,
    CommandBody, Compound, CreateDisposition, CreateOptions, CreateRequest, DirectoryInformationClass,
    EchoRequest, FileId, FlushRequest, Header, InfoType, IoctlFlags, IoctlRequest, LockElement, LockFlags,
    LockRequest, LogoffRequest, NegotiateRequest, QueryDirectoryRequest, QueryInfoRequest, ReadRequest,
    SessionSetupRequest, SetInfoRequest, ShareAccess, Text, Token, TreeConnectRequest, TreeDisconnectRequest,
    WriteRequest, pack, write_element,
};

/// The first file that is opened.
const FILE: FileId = FileId { persistent: 1, volatile: 1 };

/// Bits of a step, as the target has them.
const SIGNED: u8 = 0x40;
const SEALED: u8 = 0x60;
const CHANGED: u8 = 0x10;

/// A run of the target: how far the client comes by itself, and what follows.
struct Run(Vec<u8>);

impl Run {
    /// A message that is given the ids that are valid, and all operations and transfers that come of it.
    fn message(self, bytes: Vec<u8>) -> Self {
        self.protected(0, bytes)
    }

    /// One that is signed, encrypted or changed besides.
    fn protected(mut self, bits: u8, mut bytes: Vec<u8>) -> Self {
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        self.0.extend_from_slice(&[2 | bits, u8::try_from(bytes.len() / 2).expect("short")]);
        self.0.extend_from_slice(&bytes);
        for _ in 0..2 {
            self.0.extend_from_slice(&[4, 0, 6, 0]);
        }
        self
    }

    fn covered<M: CommandBody>(self, bits: u8, body: &M) -> Self {
        let mut bytes = Vec::new();
        write_element(&mut bytes, &Header::request::<M>(0), body).expect("short");
        self.protected(bits, bytes)
    }

    /// A WRITE by RDMA with data that are signed or encrypted, and all that comes of it.
    fn transformed(mut self, bits: u8) -> Self {
        self.0.extend_from_slice(&[7 | SIGNED | bits, 200, 6, 0, 4, 0, 6, 0]);
        self
    }

    /// The first connection is lost.
    fn lost(mut self) -> Self {
        self.0.extend_from_slice(&[0x82, 0]);
        self
    }

    fn request<M: CommandBody>(self, body: &M) -> Self {
        let mut bytes = Vec::new();
        write_element(&mut bytes, &Header::request::<M>(0), body).expect("short");
        self.message(bytes)
    }
}

fn create(name: &str, disposition: CreateDisposition, options: CreateOptions) -> CreateRequest<'_> {
    CreateRequest {
        desired_access: AccessMask::MAXIMUM_ALLOWED,
        share_access: ShareAccess(7),
        create_disposition: disposition,
        create_options: options,
        name: Text::from(name),
        ..CreateRequest::default()
    }
}

fn file() -> Run {
    Run(vec![3]).request(&create("file", CreateDisposition::CREATE, CreateOptions::NONE))
}

/// A file, and a second connection to which the session is bound.
fn channels() -> Run {
    let mut run = Run(vec![3 | 16]).request(&create("file", CreateDisposition::CREATE, CreateOptions::NONE));
    run.0.extend_from_slice(&[0x81, 0, 0x85, 0]);
    run
}

fn directory() -> Run {
    Run(vec![3]).request(&create("", CreateDisposition::OPEN, CreateOptions::NONE))
}

fn seeds() -> Vec<(&'static str, Run)> {
    let info = pack(&[BufferDescriptorV1 { offset: 0, token: Token(5), length: 64 }]);
    let channel = Channel::RDMA_V1_INVALIDATE;
    let put = WriteRequest {
        file_id: FILE,
        remaining_bytes: 64,
        channel,
        channel_info: &info,
        ..WriteRequest::default()
    };
    let fetch =
        ReadRequest { file_id: FILE, length: 64, channel, channel_info: &info, ..ReadRequest::default() };
    let write = WriteRequest { file_id: FILE, data: b"some data", ..WriteRequest::default() };
    let read = ReadRequest { file_id: FILE, length: 100, ..ReadRequest::default() };
    let close = CloseRequest { file_id: FILE, ..CloseRequest::default() };
    let query = |info_type, info_class| QueryInfoRequest {
        file_id: FILE,
        info_type,
        info_class,
        output_buffer_length: 1000,
        ..QueryInfoRequest::default()
    };
    let list = QueryDirectoryRequest {
        file_id: FILE,
        information_class: DirectoryInformationClass::ID_BOTH_DIRECTORY,
        output_buffer_length: 1000,
        pattern: Text::from("*"),
        ..QueryDirectoryRequest::default()
    };
    let set = |info_class, input| SetInfoRequest {
        file_id: FILE,
        info_type: InfoType::FILE,
        info_class,
        input,
        ..SetInfoRequest::default()
    };
    let locks = [LockElement { offset: 0, length: 9, flags: LockFlags::EXCLUSIVE_LOCK }];
    let lock = LockRequest { file_id: FILE, locks: (&locks).into(), ..LockRequest::default() };
    let notify = ChangeNotifyRequest { file_id: FILE, ..ChangeNotifyRequest::default() };
    let ioctl =
        IoctlRequest { file_id: FileId::RELATED, flags: IoctlFlags::IS_FSCTL, ..IoctlRequest::default() };
    let connect = TreeConnectRequest { path: Text::from("\\\\s\\IPC$"), ..TreeConnectRequest::default() };
    vec![
        ("start", Run(vec![0]).request(&NegotiateRequest::default()).request(&EchoRequest::default())),
        ("logon", Run(vec![1]).request(&SessionSetupRequest::default())),
        (
            "data",
            file().request(&write).request(&read).request(&FlushRequest { file_id: FILE }).request(&close),
        ),
        ("channel", file().request(&put).request(&fetch).request(&close)),
        ("query", file().request(&query(InfoType::FILE, 18)).request(&query(InfoType::FILESYSTEM, 5))),
        ("list", directory().request(&list).request(&list).request(&close)),
        ("set", file().request(&set(20, &[9, 0, 0, 0, 0, 0, 0, 0])).request(&set(13, &[1])).request(&close)),
        ("lock", file().request(&lock).request(&lock).request(&CancelRequest::default()).request(&close)),
        ("notify", directory().request(&notify).request(&close)),
        ("trees", Run(vec![2]).request(&connect).request(&ioctl).request(&TreeDisconnectRequest::default())),
        ("logoff", file().request(&LogoffRequest::default()).request(&EchoRequest::default())),
        ("compound", Run(vec![3]).message(compound(&write))),
        ("channels", channels().request(&write).lost().request(&read).request(&close)),
    ]
}

/// Sessions that are signed and encrypted, with each cipher and algorithm.
fn protected() -> Vec<(String, Run)> {
    let file = create("file", CreateDisposition::CREATE, CreateOptions::NONE);
    let write = WriteRequest { file_id: FILE, data: b"some data", ..WriteRequest::default() };
    let info = pack(&[BufferDescriptorV1 { offset: 0, token: Token(5), length: 64 }]);
    let fetch = ReadRequest {
        file_id: FILE,
        length: 64,
        channel: Channel::RDMA_V1_INVALIDATE,
        channel_info: &info,
        ..ReadRequest::default()
    };
    let close = CloseRequest { file_id: FILE, ..CloseRequest::default() };
    // Dialect, cipher, signing algorithm and transforms; then what is required.
    let session = |how: u8, what: u8, bits: u8| {
        let run = Run(vec![3 | 32, how, what]).covered(bits, &file).covered(bits, &write);
        run.transformed(0).covered(bits, &fetch).transformed(CHANGED)
    };
    let (dialect, transforms) = (2, 0x40);
    let mut runs = Vec::new();
    for cipher in 0..4 {
        let run = session(dialect | cipher << 2 | 0x10 | transforms, 2, SEALED);
        runs.push((format!("sealed-{cipher}"), run.covered(SEALED, &close)));
    }
    for signing in 0..3 {
        let run = session(dialect | signing << 4 | transforms, 1, SIGNED);
        runs.push((format!("signed-{signing}"), run.covered(SIGNED, &close)));
    }
    let old = session(0, 2, SEALED).covered(SEALED | CHANGED, &close);
    runs.push(("sealed-in-3.0".into(), old));
    let share = session(dialect | 4 | 0x20, 4, SEALED).covered(SIGNED, &close).covered(0, &close);
    runs.push(("share-sealed".into(), share));
    let changed = session(dialect | 0x20, 1, SIGNED).covered(SIGNED | CHANGED, &close).covered(0, &close);
    runs.push(("signed-changed".into(), changed));
    runs
}

fn compound(write: &WriteRequest<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut compound = Compound::new(&mut bytes);
    // The ids of all but the first are those that a client has which is connected.
    let mut add = |id: u64, header: Header, body: &dyn Fn(&mut Compound<'_>, &Header)| {
        let header = Header { message_id: smbd_smb2::wire::MessageId(id), ..header };
        body(&mut compound, &if id > 4 { header.related() } else { header });
    };
    fn put(compound: &mut Compound<'_>, header: &Header, body: &impl Body) {
        compound.add(header, body).expect("short");
    }
    let open = create("c", CreateDisposition::OPEN_IF, CreateOptions::NONE);
    let write = WriteRequest { file_id: FileId::RELATED, ..*write };
    let close = CloseRequest { file_id: FileId::RELATED, ..CloseRequest::default() };
    add(4, Header::request::<CreateRequest<'_>>(0), &|compound, header| put(compound, header, &open));
    add(5, Header::request::<WriteRequest<'_>>(0), &|compound, header| put(compound, header, &write));
    add(6, Header::request::<CloseRequest>(0), &|compound, header| put(compound, header, &close));
    bytes
}

#[test]
fn the_seeds_are_requests_of_a_client_that_is_connected() {
    let named = seeds().into_iter().map(|(name, run)| (name.to_owned(), run));
    let all = named.chain(protected());
    common::kept(all.map(|(name, Run(bytes))| (format!("smb2_server/seed-{name}"), bytes)));
}
