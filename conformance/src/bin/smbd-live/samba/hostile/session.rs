//! A guest's session with Samba through the gateway, request by request.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use smbd_conformance::smb2::client::{By, Client, Requests, Wants};
use smbd_core::{Access, BufferDescriptorV1, Config};
use smbd_smb2::wire::{Channel, Elements, NtStatus};
use smbd_tools::exercise::pattern;
use smbd_verbs::Buffer;
use smbd_verbs::blocking::{Connection, Failure as Broken};

use crate::case::Failure;
use crate::expect::same;
use crate::ours::pair::{contents, only};
use crate::patience::PATIENCE;
use crate::samba::sizes::equal;
use crate::settings;

/// The share that guests are let into.
const SHARE: &str = r"\\127.0.0.1\guests";
/// Bytes of memory that the server may use.
const MEMORY: u32 = 256 << 10;
/// ECHOs that bring a client as many credits as it wants: each answer has 32 at most.
const ECHOS: usize = 40;

/// A session, a file in it, and memory that the server may use.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    client: Client,
    buffer: Buffer,
    /// The memory.
    pub(super) memory: BufferDescriptorV1,
}

/// What came of some requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// A final answer to each of them.
    Answers(BTreeMap<u64, NtStatus>),
    /// The end of the connection, for this reason.
    End(String),
}

impl Session {
    /// Logs in as a guest, and opens a file.
    pub(super) fn begin(to: SocketAddr) -> Result<Self, Failure> {
        let mut connection = Connection::connect(to, &Config::try_from(settings::windows())?)?;
        let mut client = Client::new(Wants { share: Some(SHARE.into()), ..Wants::default() });
        while let Some(request) = client.next_request()? {
            connection.send(request.into())?;
            client.take(&connection.recv(PATIENCE)?)?;
        }
        if let Some(refused) = client.refused() {
            return Err(format!("{} was refused: {}", refused.command, refused.status).into());
        }
        let buffer = Buffer::new(MEMORY)?;
        let memory = only(&connection.register(&buffer, Access::ReadWrite)?)?;
        Ok(Self { connection, client, buffer, memory })
    }

    /// The client, to make requests.
    pub(super) const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends messages, and waits for a final answer to each of these requests, or for the end.
    pub(super) fn ask(&mut self, messages: Vec<Vec<u8>>, requests: &BTreeSet<u64>) -> Result<Came, Failure> {
        for message in messages {
            // One that has ended says so when it is listened to.
            if self.connection.send(message.into()).is_err() {
                break;
            }
        }
        let mut answers = BTreeMap::new();
        while answers.len() < requests.len() {
            let message = match self.connection.recv(PATIENCE) {
                Ok(message) => message,
                Err(Broken::Closed(reason)) => return Ok(Came::End(reason.to_string())),
                Err(error) => {
                    let missing: Vec<_> = requests.iter().filter(|id| !answers.contains_key(*id)).collect();
                    return Err(format!("no answers to {missing:?} of {requests:?}: {error}").into());
                }
            };
            self.client.take(&message)?;
            for element in Elements::new(&message) {
                let header = element?.header;
                let (id, status) = (header.message_id.0, header.status);
                if status != NtStatus::PENDING
                    && (!requests.contains(&id) || answers.insert(id, status).is_some())
                {
                    return Err(format!("an answer to {id}, which does not wait for one: {status}").into());
                }
            }
        }
        Ok(Came::Answers(answers))
    }

    /// Sends a message that may end the connection, and an ECHO behind it. The end, if it came; whatever the answer to the message
    /// is, the ECHO is answered otherwise.
    pub(super) fn provoke(&mut self, message: Vec<u8>) -> Result<Option<String>, Failure> {
        let mut requests = Requests::new(&mut self.client);
        requests.echo()?;
        let (echo, id) = requests.finish();
        for message in [message, echo] {
            if self.connection.send(message.into()).is_err() {
                break;
            }
        }
        loop {
            let message = match self.connection.recv(PATIENCE) {
                Ok(message) => message,
                Err(Broken::Closed(reason)) => return Ok(Some(reason.to_string())),
                Err(error) => return Err(format!("neither an answer nor an end: {error}").into()),
            };
            for element in Elements::new(&message) {
                if element?.header.message_id.0 == id {
                    return Ok(None);
                }
            }
        }
    }

    /// One request that is as it should be, and succeeds.
    fn succeeds(
        &mut self,
        make: impl FnOnce(&mut Requests<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut requests = Requests::new(&mut self.client);
        make(&mut requests)?;
        let (message, id) = requests.finish();
        let came = self.ask(vec![message], &BTreeSet::from([id]))?;
        same("what came of a good request", came, Came::Answers(BTreeMap::from([(id, NtStatus::SUCCESS)])))
    }

    /// Writes all of its memory to its file, and reads it back, each by RDMA.
    pub(super) fn works(&mut self, seed: u64) -> Result<(), Failure> {
        let (data, memory) = (pattern(seed, MEMORY as usize), [self.memory]);
        let by = By { channel: Channel::RDMA_V1, descriptors: &memory };
        self.buffer.fill(0, &data)?;
        self.succeeds(|requests| Ok(requests.write_by(&by, MEMORY, 0)?))?;
        self.buffer.fill(0, &vec![0; MEMORY as usize])?;
        self.succeeds(|requests| Ok(requests.read_by(&by, MEMORY, 0)?))?;
        equal("what was written", &contents(&self.buffer)?, &data)
    }

    /// The credits that it has when no request waits and it has asked for all that it wants.
    pub(super) fn credits(&mut self) -> Result<u64, Failure> {
        for _ in 0..ECHOS {
            self.succeeds(|requests| Ok(requests.echo()?))?;
        }
        Ok(self.client.credits())
    }

    /// What is in its memory.
    pub(super) fn contents(&self) -> Result<Vec<u8>, Failure> {
        contents(&self.buffer)
    }

    /// Ends in good order.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.connection.close(PATIENCE)?;
        Ok(())
    }

    /// Lets go of a connection that has ended. The device may take a minute for it.
    pub(super) fn forget(self) {
        std::thread::spawn(move || drop(self));
    }
}
