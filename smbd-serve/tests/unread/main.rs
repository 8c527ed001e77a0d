//! Memory of a server whose clients do not read what they ask for. In a process of its own: what others do would count.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use smbd_client::{Remote, Settings};
use smbd_link::tcp::Tcp;
use smbd_serve::folder::{self, Folder};
use smbd_serve::{Host, serve};
use smbd_smb2::security::Credentials;
use smbd_smb2::server::{Params, Server, Share};
use smbd_smb2::wire::{Command, CreateResponse, Guid, Header, MessageId, ReadRequest, Target, write_element};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::timeout;

const MIB: usize = 1 << 20;
const CLIENTS: usize = 8;
/// What a connection may hold at most, in MiB: 16, and 64 KiB for each credit.
const OF_CONNECTION_MIB: usize = 48;
/// Bytes of a READ, and the credits that it takes.
const LEN: u32 = 1 << 20;
const CHARGE: u16 = 16;
/// READs of a client at most.
const READS: u64 = 20_000;

/// VmRSS of this process, in MiB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().split(' ').next().unwrap().parse::<usize>().unwrap() / 1024
}

async fn message(stream: &mut DuplexStream) -> Option<Vec<u8>> {
    let mut message = vec![0; 4];
    stream.read_exact(&mut message).await.ok()?;
    let len = u32::from_be_bytes(message[..].try_into().unwrap());
    message.resize(4 + len as usize, 0);
    stream.read_exact(&mut message[4..]).await.ok()?;
    Some(message)
}

/// A client that has opened a file, and what its next READ is.
struct Client {
    stream: DuplexStream,
    header: Header,
    read: ReadRequest<'static>,
}

impl Client {
    /// Lets a client open the file, and takes its connection from it.
    async fn take_over(mut server: DuplexStream, name: &str) -> Self {
        let (here, mut client) = duplex(1 << 16);
        let settings = Settings { guest: true, ..Settings::new("server") };
        let (remote, driver) = Remote::over(Tcp::over(here), &settings).unwrap();
        tokio::spawn(driver);
        let opens = async {
            let share = remote.login(Credentials::of_password("nobody", "none")).await.unwrap();
            let file = share.connect("data").await.unwrap().open(name).await.unwrap();
            // It is not closed.
            std::mem::forget(file);
        };
        let mut header = Header::request::<ReadRequest<'_>>(0);
        let mut read = ReadRequest { length: LEN, ..ReadRequest::default() };
        let relays = async {
            loop {
                let request = message(&mut client).await.unwrap();
                let asked = Header::parse(&request[4..]).unwrap();
                header.message_id = MessageId(asked.message_id.0 + u64::from(asked.credit_charge.max(1)));
                server.write_all(&request).await.unwrap();
                let response = message(&mut server).await.unwrap();
                let answered = Header::parse(&response[4..]).unwrap();
                header.session_id = answered.session_id;
                header.target = answered.target;
                if answered.command == Command::CREATE {
                    read.file_id = CreateResponse::parse(&response[4..]).unwrap().file_id;
                }
                client.write_all(&response).await.unwrap();
            }
        };
        tokio::select! {
            () = opens => {}
            () = relays => {}
        }
        assert!(matches!(header.target, Target::Sync { .. }));
        Self { stream: server, header, read }
    }

    /// The next READ.
    fn next(&mut self) -> Vec<u8> {
        (self.header.credit_charge, self.header.credits) = (CHARGE, CHARGE);
        let mut message = vec![0; 4];
        write_element(&mut message, &self.header, &self.read).unwrap();
        self.header.message_id.0 += u64::from(CHARGE);
        let len = u32::try_from(message.len() - 4).unwrap();
        message[..4].copy_from_slice(&len.to_be_bytes());
        message
    }
}

#[tokio::test(start_paused = true)]
async fn clients_that_do_not_read_keep_no_more_than_48_mib_each() {
    let path = std::env::temp_dir().join(format!("smbd-unread-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    // Long READs first: memory that was used once is there, and not only promised.
    fs::write(path.join("f"), vec![7; LEN as usize + 100]).unwrap();
    let mut params = Params::new(Guid([7; 16]), "SERVER");
    params.shares = vec![Share { guests: true, ..Share::new("data") }];
    params.guests = true;
    let server = Arc::new(Server::new(params, |_: &str, _: &str| None).unwrap());
    let folder = Folder::open(&path, "data", folder::Options::default()).unwrap();
    let (host, (stop, stops)) = (Arc::new(Host::new(server, vec![folder])), watch::channel(false));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let (here, there) = duplex(1 << 16);
        let link = Tcp::over(there).receiving(2 << 20);
        tokio::spawn(serve(Arc::clone(&host), link, stops.clone(), Duration::ZERO, |_| {}));
        clients.push(Client::take_over(here, "f").await);
    }
    for client in &mut clients {
        for _ in 0..40 {
            let read = client.next();
            client.stream.write_all(&read).await.unwrap();
            assert!(message(&mut client.stream).await.unwrap().len() > LEN as usize);
        }
        client.read.offset = LEN.into();
    }
    let before = resident();
    let (mut sent, mut most) = (0, 0);
    for _ in 0..READS {
        let mut takes = false;
        for client in &mut clients {
            let read = client.next();
            // The clock stands still while anybody has anything to do.
            if timeout(Duration::from_secs(60), client.stream.write_all(&read)).await.is_ok() {
                (takes, sent) = (true, sent + 1);
            }
        }
        most = most.max(resident());
        // Enough is seen, and the machine may need the rest.
        if !takes || most > before + 2 * CLIENTS * OF_CONNECTION_MIB {
            break;
        }
    }
    let grown = most.saturating_sub(before);
    println!("{sent} READs, {before} MiB before, {grown} MiB more");
    assert!(grown <= CLIENTS * OF_CONNECTION_MIB, "{grown} MiB of {CLIENTS} clients after {sent} READs");
    // Not for want of requests: a connection that answers all of them is one that is read.
    assert!(sent as u64 * 100 > CLIENTS as u64 * MIB as u64 / 20, "{sent}");
    drop((clients, stop));
    fs::remove_dir_all(&path).unwrap();
}
