//! Transfers of a worker: several at the same time, of parts of its file that do not get into each other's way.

use bytes::Bytes;
use smbd_client::{Buffer, Error, File, Pending};
use smbd_smb2::wire::NtStatus;

use super::crew::Crew;
use super::fate::{Fate, Standing};
use crate::work::{self, Claim, check_read};
use smbd_testkit::{Breach, law};

/// A READ or WRITE.
pub struct Transfer {
    pub claim: Claim,
    pub offset: usize,
    pub len: usize,
    /// What is written.
    pub data: Option<Vec<u8>>,
    /// The caller's memory, if it is used.
    pub buffer: Option<Buffer>,
}

/// One that has begun, and how the session stood then.
pub struct Begun {
    transfer: Transfer,
    standing: Standing,
    told: Result<Told, Error>,
}

/// What tells what came of it.
enum Told {
    Read(Pending<Bytes>),
    Into(Pending<u32>),
    Written(Pending<u64>),
}

impl Transfer {
    /// Begins it. Waits for room.
    pub async fn begin(self, crew: &Crew, file: &File) -> Begun {
        let standing = Standing::of(crew);
        crew.begins();
        crew.notes().step(|| format!("client: begins {}", self.text()));
        let (offset, len) = (self.offset as u64, self.len as u32);
        let told = match (&self.data, &self.buffer) {
            (None, None) => file.start_read(offset, len).await.map(Told::Read),
            (None, Some(buffer)) => file.start_read_into(offset, buffer, len).await.map(Told::Into),
            (Some(data), None) => {
                file.start_write(offset, Bytes::from(data.clone())).await.map(Told::Written)
            }
            (Some(data), Some(buffer)) => match buffer.fill(0, data) {
                Ok(()) => file.start_write_from(offset, buffer, len).await.map(Told::Written),
                Err(error) => Err(error.into()),
            },
        };
        Begun { transfer: self, standing, told }
    }

    fn text(&self) -> String {
        let kind = if self.data.is_some() { "WRITE" } else { "READ" };
        let own = if self.buffer.is_some() { ", own buffer" } else { "" };
        format!("{kind} of {} at {}{own}", self.len, self.offset)
    }

    /// What a READ has brought.
    fn brought(&self, count: u32) -> Result<Vec<u8>, Error> {
        let mut data = vec![0; (count as usize).min(self.len)];
        match &self.buffer {
            Some(buffer) => buffer.read(0, &mut data).map(|()| data).map_err(Error::from),
            None => Ok(data),
        }
    }

    fn is_read(&self, file: &work::File, count: usize, data: &[u8]) -> Result<(), Breach> {
        check_read(file, self.text(), (self.offset, self.len), (count, data), false)
    }

    /// What is known of the file after a failure.
    fn failed(&self, file: &mut work::File, fate: Fate) {
        if let Some(data) = &self.data {
            file.is_lost |= fate == Fate::Later || self.offset + data.len() > file.content.len();
            file.content.perhaps(self.offset, data);
        }
    }
}

impl Begun {
    /// Waits for its result. What has to come of it is known by the content of the file. `None`: the session is over.
    pub async fn result(self, crew: &Crew, file: usize) -> Option<()> {
        let Self { transfer, standing, told } = self;
        let came = match told {
            Ok(Told::Read(pending)) => pending.wait().await.map(|data| (data.len(), data.to_vec())),
            Ok(Told::Into(pending)) => {
                let count = pending.wait().await;
                count.and_then(|count| Ok((count as usize, transfer.brought(count)?)))
            }
            Ok(Told::Written(pending)) => pending.wait().await.map(|count| (count as usize, Vec::new())),
            Err(error) => Err(error),
        };
        crew.ends();
        if standing.has_lost(crew) && came.is_ok() {
            crew.notes().count("transfers while a connection was lost");
        }
        let content = std::rc::Rc::clone(&crew.scene.content);
        let file = &mut content.borrow_mut()[file];
        match (came, &transfer.data) {
            (Ok((count, _)), Some(data)) => {
                crew.notes().add("bytes written", count as u64);
                let text = transfer.text();
                crew.judge(whole(&text, count, data.len()));
                file.content.wrote(transfer.offset, data);
            }
            (Ok((count, data)), None) => {
                crew.notes().add("bytes read", count as u64);
                crew.judge(transfer.is_read(file, count, &data));
            }
            (Err(Error::Status(NtStatus::END_OF_FILE)), None) => {
                crew.judge(transfer.is_read(file, 0, &[]));
            }
            (Err(error), _) => {
                let fate = standing.outcome(crew, &transfer.text(), &error, true);
                transfer.failed(file, fate);
                if fate == Fate::Over {
                    return None;
                }
            }
        }
        crew.notes().count("operations that succeeded");
        Some(())
    }
}

fn whole(text: &str, count: usize, len: usize) -> Result<(), Breach> {
    law!("results", count == len, "{text} has written {count}");
    Ok(())
}
