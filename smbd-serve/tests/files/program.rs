//! The program `smbd-serve`, as tests start it and talk to it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use smbd_client::copy::{self, Options};
use smbd_client::{Remote, Session, Settings, Share, Tcp};
use smbd_smb2::wire::{
    Dialect, Guid, Header, List, NegotiateRequest, NegotiateResponse, SecurityMode, write_element,
};

use super::words::{PASSWORD, login, login_as, said, settings};

pub fn users(folder: &Path, mode: u32) -> String {
    let path = folder.join("users");
    fs::write(&path, format!("# one user\ntester:password:{PASSWORD}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-serve"));
    command.args(arguments);
    command
}

pub async fn connect(port: &str) -> Tcp<tokio::net::TcpStream> {
    Tcp::over(tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap())
}

/// How long a line may take.
const WITHIN: Duration = Duration::from_secs(60);

/// A server that runs, what it says, and its port. Dropped, it is killed.
pub struct Serve {
    pub child: Child,
    lines: Receiver<String>,
    pub port: String,
}

impl Serve {
    /// With a listener at some port.
    pub fn start(arguments: &[&str]) -> Self {
        Self::run(command(arguments).args(["--listen", "tcp:127.0.0.1:0", "--status-socket", ""]))
    }

    /// Whose first listener is over TCP.
    pub fn run(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let read = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (tell, lines) = channel();
        spawn(move || read.map(|line| said(&line)).try_for_each(|line| tell.send(line)));
        let first = lines.recv_timeout(WITHIN).unwrap();
        let port = first.strip_prefix("listening address=127.0.0.1:").and_then(|rest| rest.split(' ').next());
        let port = port.unwrap_or_else(|| panic!("{first}")).to_owned();
        Self { child, lines, port }
    }

    /// The next line that begins like this; others before it are left out.
    pub fn says(&self, what: &str) -> String {
        loop {
            match self.lines.recv_timeout(WITHIN) {
                Ok(line) if line.starts_with(what) => return line,
                Ok(_) => {}
                Err(why) => panic!("it has not said {what:?}: {why}"),
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether a user is let in.
    pub fn lets_in(&self, user: &str, password: &str) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (remote, driver) = Remote::over(connect(&self.port).await, &settings()).unwrap();
            tokio::spawn(driver);
            login_as(&remote, user, password).await.is_ok()
        })
    }

    /// Copies a file to the server.
    pub fn put(&self, file: &Path, name: &str, settings: &Settings) -> Result<(), String> {
        self.with_share(settings, async |share, _| {
            let copied = copy::put(file, share, name, Options::default(), &()).await;
            copied.map(drop).map_err(|failure| failure.to_string())
        })
    }

    /// Copies a file from the server.
    pub fn get(&self, name: &str, file: &Path) -> Result<(), String> {
        self.with_share(&settings(), async |share, _| {
            let copied = copy::get(share, name, file, Options::default(), &()).await;
            copied.map(drop).map_err(|failure| failure.to_string())
        })
    }

    /// What comes of `work` on the share, with a user who is logged in.
    pub fn with_share<T>(
        &self,
        settings: &Settings,
        work: impl AsyncFnOnce(&Share, &Session) -> Result<T, String>,
    ) -> Result<T, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (remote, driver) = Remote::over(connect(&self.port).await, settings).unwrap();
            let driver = tokio::spawn(driver);
            let session = login(&remote, PASSWORD).await.map_err(|error| error.to_string())?;
            let share = session.connect("share").await.map_err(|error| error.to_string())?;
            let done = work(&share, &session).await;
            drop((share, session, remote));
            driver.await.unwrap();
            done
        })
    }

    /// MaxReadSize and MaxWriteSize, in bytes.
    pub fn transfers_max(&self) -> [u32; 2] {
        let answer = self.negotiate(Dialect::SMB_3_0_2);
        let response = NegotiateResponse::parse(&answer).unwrap();
        [response.max_read_size, response.max_write_size]
    }

    /// The answer to a client that offers this dialect only.
    pub fn negotiate(&self, dialect: Dialect) -> Vec<u8> {
        let dialects = [dialect];
        let request = NegotiateRequest {
            security_mode: SecurityMode::SIGNING_ENABLED,
            client_guid: Guid([7; 16]),
            dialects: List::from(&dialects),
            ..NegotiateRequest::default()
        };
        let mut message = vec![0; 4];
        write_element(&mut message, &Header::request::<NegotiateRequest>(0), &request).unwrap();
        let len = u32::try_from(message.len() - 4).unwrap();
        message[..4].copy_from_slice(&len.to_be_bytes());
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        stream.write_all(&message).unwrap();
        let mut len = [0; 4];
        stream.read_exact(&mut len).unwrap();
        let mut answer = vec![0; u32::from_be_bytes(len) as usize];
        stream.read_exact(&mut answer).unwrap();
        answer
    }

    /// Ends it in order. Returns its exit status and what it said last.
    pub fn terminate(mut self) -> (Option<i32>, Vec<String>) {
        self.signal(Signal::TERM);
        let lines = self.lines.iter().collect();
        (self.child.wait().unwrap().code(), lines)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
