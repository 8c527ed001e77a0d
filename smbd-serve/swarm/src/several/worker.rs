//! One of those who do something at the same time: it has a directory of its own, and a file in it.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use smbd_client::{Buffer, Error, File, Share};
use smbd_smb2::wire::NtStatus;

use super::crew::Crew;
use super::fate::{Fate, Standing};
use super::names::Names;
use super::transfer::Transfer;
use crate::work::{self, Claim};
use smbd_testkit::Chance;
use smbd_testkit::law;

/// The most bytes of a file.
const FILE_MAX: usize = 1 << 18;
/// The most of the caller's buffers.
const BUFFERS_MAX: usize = 2;

pub struct Worker {
    pub crew: Rc<Crew>,
    pub chance: Chance,
    pub share: Share,
    /// Of its directory.
    pub path: String,
    /// Where its file is among all files.
    file: usize,
    buffers: Vec<Buffer>,
    pub names: Names,
}

impl Worker {
    /// In this share, which has this number.
    pub fn new(crew: &Rc<Crew>, number: usize, (at, share): (usize, Share)) -> Self {
        let mut content = crew.scene.content.borrow_mut();
        let name = format!("w{number}\\f");
        content.push(work::File { tree: at, name, ..work::File::default() });
        Self {
            crew: Rc::clone(crew),
            chance: crew.scene.chance(),
            share,
            path: format!("w{number}"),
            file: content.len() - 1,
            buffers: Vec::new(),
            names: Names::default(),
        }
    }

    /// All of it, until there is enough, or it cannot go on.
    pub async fn run(mut self) {
        // Whoever cannot go on has said so.
        let _ = self.work().await;
    }

    async fn work(&mut self) -> Option<()> {
        self.make_directory().await?;
        let mut file = self.open().await?;
        while self.crew.goes_on() {
            self.think().await;
            match self.chance.weighted(&[30, 4, 3, 6, 2]) {
                Some(0) => self.burst(&file).await?,
                Some(1) => self.size().await?,
                Some(2) => self.list().await?,
                Some(3) => self.name().await?,
                _ => {
                    self.close(file).await?;
                    file = self.open().await?;
                }
            }
        }
        self.close(file).await
    }

    async fn think(&mut self) {
        let most = self.crew.plan().pace.thinks;
        let nanos = self.chance.size(0, most.as_nanos() as usize) as u64;
        self.crew.stage.sleep(Duration::from_nanos(nanos)).await;
    }

    /// An operation with its result. `Err`: it has failed, and what is known of it.
    pub async fn one<T>(
        &self,
        what: &str,
        can_repeat: bool,
        operation: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Fate> {
        let standing = Standing::of(&self.crew);
        self.crew.begins();
        self.crew.notes().step(|| format!("client: begins {what}"));
        let result = operation.await;
        self.crew.ends();
        match result {
            Ok(result) => {
                self.crew.notes().count("operations that succeeded");
                if standing.has_lost(&self.crew) {
                    self.crew.notes().count("operations while a connection was lost");
                }
                Ok(result)
            }
            Err(error) => Err(standing.outcome(&self.crew, what, &error, can_repeat)),
        }
    }

    /// Makes its directory. If nobody knows whether it is there, that is found out.
    async fn make_directory(&self) -> Option<()> {
        let what = format!("mkdir {}", self.path);
        loop {
            let made = async {
                match self.share.mkdir(&self.path).await {
                    Err(Error::Status(NtStatus::OBJECT_NAME_COLLISION)) => Ok(()),
                    other => other,
                }
            };
            match self.one(&what, false, made).await {
                Ok(()) => return Some(()),
                Err(Fate::Over) => return None,
                Err(Fate::Unknown | Fate::Later) => {}
            }
        }
    }

    async fn open(&self) -> Option<File> {
        let path = format!("{}/f", self.path);
        loop {
            match self.one("open", true, self.share.open_for_writing(&path)).await {
                Ok(file) => {
                    self.crew.scene.content.borrow_mut()[self.file].is_there = true;
                    return Some(file);
                }
                Err(Fate::Over) => return None,
                Err(Fate::Unknown | Fate::Later) => {}
            }
        }
    }

    async fn close(&self, file: File) -> Option<()> {
        match self.one("close", true, file.close()).await {
            Err(Fate::Over) => None,
            Ok(()) | Err(Fate::Unknown | Fate::Later) => Some(()),
        }
    }

    /// Some transfers at the same time.
    async fn burst(&mut self, file: &File) -> Option<()> {
        let most = self.crew.plan().channels.map_or(1, |channels| channels.burst);
        let (count, mut claims, mut begun) = (1 + self.chance.below(most), Vec::new(), Vec::new());
        self.make_buffer().await?;
        let mut buffers = self.buffers.clone();
        for _ in 0..count {
            let Some(mut transfer) = self.transfer(file, &claims) else { continue };
            claims.push(transfer.claim.clone());
            let is_fit = |buffer: &&mut Buffer| buffer.len() as usize >= transfer.len;
            if self.chance.one_in(3) && buffers.iter_mut().last().as_ref().is_some_and(is_fit) {
                transfer.buffer = buffers.pop();
            }
            begun.push(transfer.begin(&self.crew, file).await);
        }
        let mut goes_on = Some(());
        for begun in begun {
            let result = begun.result(&self.crew, self.file).await;
            goes_on = goes_on.and(result);
        }
        goes_on
    }

    /// Something that none of these claims excludes.
    fn transfer(&mut self, file: &File, claims: &[Claim]) -> Option<Transfer> {
        let size = self.crew.scene.content.borrow()[self.file].content.len();
        let most = self.crew.plan().transfer_max;
        let len = if self.chance.one_in(3) { 1 + self.chance.below(most) } else { self.chance.size(1, most) };
        let writes = size == 0 || self.chance.one_in(2);
        let grows = writes && (size == 0 || self.chance.one_in(4));
        let offset = if grows { size } else { self.chance.below(size) };
        let max = if writes { file.write_max() } else { file.read_max() };
        let mut len = len.min(max as usize).min(FILE_MAX.saturating_sub(offset));
        if writes && !grows {
            len = len.min(size - offset);
        }
        let claim = match (grows, writes) {
            (true, _) => Claim::All,
            (false, true) => Claim::Writes(offset..offset + len),
            (false, false) => Claim::Reads(offset..offset + len),
        };
        if len == 0 || claims.iter().any(|other| other.excludes(&claim)) {
            return None;
        }
        let data = writes.then(|| bytes(&mut self.chance, len));
        Some(Transfer { claim, offset, len, data, buffer: None })
    }

    /// Memory of the caller's, now and then.
    async fn make_buffer(&mut self) -> Option<()> {
        if self.buffers.len() >= BUFFERS_MAX || !self.chance.one_in(4) {
            return Some(());
        }
        let len = self.crew.plan().transfer_max as u32;
        match self.one("a buffer", true, self.share.buffer(len)).await {
            Ok(buffer) => self.buffers.push(buffer),
            Err(Fate::Over) => return None,
            Err(Fate::Unknown | Fate::Later) => {}
        }
        Some(())
    }

    async fn size(&self) -> Option<()> {
        let path = format!("{}/f", self.path);
        match self.one("stat", true, self.share.stat(&path)).await {
            Ok(stat) => {
                let content = self.crew.scene.content.borrow();
                let (file, there) = (&content[self.file], content[self.file].content.len() as u64);
                let is_right = file.is_lost || stat.size == there;
                self.crew.judge((|| {
                    law!("results", is_right, "{path} has {} bytes, and {there} are there", stat.size);
                    Ok(())
                })());
                Some(())
            }
            Err(Fate::Over) => None,
            Err(Fate::Unknown | Fate::Later) => Some(()),
        }
    }
}

/// Random bytes.
pub fn bytes(chance: &mut Chance, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| chance.bits().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}
