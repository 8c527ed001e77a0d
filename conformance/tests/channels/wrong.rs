//! The server of `smbd-smb2`, or a client that copies, whose messages of SMB2 are tampered with on their way to the script, as are the script's on theirs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use smbd_conformance::catalogue::{Need, UnderTest};
use smbd_conformance::suite::rig::sim::{SimLate, SimServer, SimSmb2};
use smbd_conformance::suite::rig::{
    Adapter, Full, Heard, News, Opening, Order, Rig, Settings, Streams, Target, Unable,
};
use smbd_core::{Instant, RdmaVerb, Token};
use smbd_smb2::wire::{Command, Header, NtStatus};

use super::keys::Keys;

/// Where SMB2 begins in a Data Transfer message with 4 bytes of padding, and where its DataLength is.
const SMB2_AT: usize = 24;
const DATA_LENGTH_AT: usize = 16;
/// Where RemainingDataLength is.
const REMAINING_AT: usize = 8;

/// A message of the server, SMB2 alone, and what it invalidates.
#[derive(Debug)]
pub struct Said {
    pub smb2: Vec<u8>,
    pub token: Option<Token>,
}

/// What is wrong with a server.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    /// A request as the server gets it. Its length stays.
    pub hears: fn(&mut [u8]),
    /// A response as the script gets it.
    pub says: fn(&mut Said),
    /// A response over TCP as the script gets it.
    pub tells: fn(&mut Vec<u8>),
    /// What the script finds in a buffer.
    pub wrote: fn(&mut [u8]),
    /// What is in a new buffer of the script.
    pub finds: fn(&mut [u8]),
    /// The end of a connection on which the script has written by RDMA more than once is kept from it.
    pub stays: bool,
    /// It says of requests that they are under way, and the answer to a WRITE comes behind the one that follows it.
    pub late: bool,
    /// It is a client.
    pub is_client: bool,
}

impl Default for Wrong {
    fn default() -> Self {
        Self {
            hears: |_| {},
            says: |_| {},
            tells: |_| {},
            wrote: |_| {},
            finds: |_| {},
            stays: false,
            late: false,
            is_client: false,
        }
    }
}

impl Target for Wrong {
    fn name(&self) -> String {
        "tampered".into()
    }

    fn variants(&self) -> Vec<String> {
        SimServer.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        if self.is_client { SimSmb2.lacks(role, need) } else { SimServer.lacks(role, need) }
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let rig = match (self.is_client, self.late) {
            (true, _) => SimSmb2.rig(variant, role, settings)?,
            (false, true) => SimLate.rig(variant, role, settings)?,
            (false, false) => SimServer.rig(variant, role, settings)?,
        };
        let (writes, keys, of_streams) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Box::new(WrongRig { rig, wrong: *self, writes, keys, of_streams, held: Held::Nothing }))
    }
}

struct WrongRig {
    rig: Box<dyn Rig>,
    wrong: Wrong,
    /// RDMA requests of the script on each connection.
    writes: BTreeMap<usize, u32>,
    /// Of sessions that have keys.
    keys: BTreeMap<usize, Keys>,
    of_streams: BTreeMap<usize, Keys>,
    held: Held,
}

/// The answer to a WRITE that is kept back.
enum Held {
    Nothing,
    Until(News),
    Due(News),
}

/// Whether it is the only fragment of an answer to a WRITE, and whether it is the last fragment of any answer. Interim answers are none.
fn looked_at(news: &News) -> (bool, bool) {
    let News::Message(bytes, _) = news else { return (false, false) };
    let field =
        |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let header = bytes.get(SMB2_AT..).and_then(|smb2| Header::parse(smb2).ok());
    let is_interim = header.is_some_and(|header| header.status == NtStatus::PENDING);
    let is_last = bytes.len() > SMB2_AT && field(REMAINING_AT) == Some(0) && !is_interim;
    (is_last && header.is_some_and(|header| header.command == Command::WRITE), is_last)
}

/// The first fragment of a message of SMB2.
fn begins_smb2(bytes: &[u8]) -> bool {
    bytes.get(SMB2_AT..).is_some_and(|smb2| smb2.starts_with(b"\xfeSMB") || smb2.starts_with(b"\xfdSMB"))
}

impl Rig for WrongRig {
    fn now(&self) -> Instant {
        self.rig.now()
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        self.rig.open(opening)
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        if matches!(order, Order::Rdma(RdmaVerb::Write, ..)) {
            *self.writes.entry(connection).or_default() += 1;
        }
        let Order::Send(bytes, token) = order else { return self.rig.order(connection, order) };
        let mut bytes = bytes.to_vec();
        if begins_smb2(&bytes) {
            let smb2 = bytes.split_off(SMB2_AT);
            bytes.extend(self.keys.entry(connection).or_default().request(&smb2, self.wrong.hears));
        }
        self.rig.order(connection, Order::Send(&bytes, token))
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        let mut bytes = bytes.to_vec();
        (self.wrong.finds)(&mut bytes);
        self.rig.allocate(connection, &bytes)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        let mut bytes = self.rig.contents(connection, buffer);
        (self.wrong.wrote)(&mut bytes);
        bytes
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        self.rig.fill(connection, buffer, bytes);
    }

    fn news(&mut self, connection: usize) -> Option<(Instant, News)> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Due(kept) => Some((self.rig.now(), kept)),
            Held::Until(kept) => {
                let next = self.tampered(connection);
                let is_behind = next.as_ref().is_some_and(|(_, news)| looked_at(news).1);
                self.held = if is_behind { Held::Due(kept) } else { Held::Until(kept) };
                next
            }
            Held::Nothing => {
                let (at, news) = self.tampered(connection)?;
                if !self.wrong.late || !looked_at(&news).0 {
                    return Some((at, news));
                }
                self.held = Held::Until(news);
                self.news(connection)
            }
        }
    }

    fn pass(&mut self, limit: Instant) {
        self.rig.pass(limit);
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        if self.rig.streams().is_some() { Some(self) } else { None }
    }
}

impl WrongRig {
    fn inner(&mut self) -> &mut dyn Streams {
        self.rig.streams().unwrap()
    }

    /// The next thing that is told, made wrong.
    fn tampered(&mut self, connection: usize) -> Option<(Instant, News)> {
        let (at, mut news) = self.rig.news(connection)?;
        let writes = self.writes.get(&connection).copied().unwrap_or_default();
        if self.wrong.stays && writes > 1 && news == News::Disconnected {
            news = News::Done(u64::MAX, Ok(()));
        }
        let News::Message(mut bytes, token) = news else { return Some((at, news)) };
        if !begins_smb2(&bytes) {
            return Some((at, News::Message(bytes, token)));
        }
        let smb2 = bytes.split_off(SMB2_AT);
        let was = smb2.len();
        let (mut token, says) = (token, self.wrong.says);
        let smb2 = self.keys.entry(connection).or_default().response(&smb2, |smb2| {
            let mut said = Said { smb2: std::mem::take(smb2), token };
            says(&mut said);
            (*smb2, token) = (said.smb2, said.token);
        });
        let mut said = Said { smb2, token };
        if said.smb2.len() != was {
            let len = u32::try_from(said.smb2.len()).unwrap().to_le_bytes();
            bytes[DATA_LENGTH_AT..DATA_LENGTH_AT + 4].copy_from_slice(&len);
        }
        bytes.append(&mut said.smb2);
        Some((at, News::Message(bytes, said.token)))
    }
}

impl Streams for WrongRig {
    fn rdma_address(&mut self) -> IpAddr {
        self.inner().rdma_address()
    }

    fn dial(&mut self, by: Adapter) -> Result<usize, Unable> {
        self.inner().dial(by)
    }

    fn tell(&mut self, stream: usize, message: &[u8]) -> Result<(), Unable> {
        let message = self.of_streams.entry(stream).or_default().request(message, |_| {});
        self.inner().tell(stream, &message)
    }

    fn hear(&mut self, stream: usize, limit: Instant) -> Heard {
        let heard = self.inner().hear(stream, limit);
        let Heard::Message(message) = heard else { return heard };
        let keys = self.of_streams.entry(stream).or_default();
        Heard::Message(keys.response(&message, self.wrong.tells))
    }
}
