//! Files that a worker makes, looks at, renames and removes.

use bytes::Bytes;
use smbd_client::Error;

use super::LOOKED_AT;
use super::fate::{Fate, Standing};
use super::worker::{Worker, bytes};
use smbd_testkit::{Breach, law};

impl Worker {
    /// Does something with a name. `None`: the session is over.
    pub(super) async fn name(&mut self) -> Option<()> {
        let known: Vec<String> = self.names.known.keys().cloned().collect();
        let done = match if known.is_empty() { 0 } else { self.chance.below(4) } {
            0 => self.make().await,
            kind => {
                let name = self.chance.pick(&known.iter().collect::<Vec<_>>()).clone();
                match kind {
                    1 => self.look(&name).await,
                    2 => self.rename(name).await,
                    _ => self.remove(name).await,
                }
            }
        };
        match done {
            Err(Fate::Over) => None,
            Ok(()) | Err(Fate::Unknown | Fate::Later) => Some(()),
        }
    }

    async fn make(&mut self) -> Result<(), Fate> {
        let name = self.names.new_name();
        let len = self.chance.size(1, 300);
        let (path, data) = (format!("{}/{name}", self.path), bytes(&mut self.chance, len));
        // It is there for certain when it is closed.
        self.names.doubt(name.clone());
        let file = self.one(&format!("create {path}"), false, self.share.create(&path)).await?;
        let write = file.write_at(0, Bytes::from(data.clone()));
        let written = self.one(&format!("write {path}"), true, write).await;
        self.one("close", true, file.close()).await?;
        written?;
        self.names.unsure.remove(&name);
        self.names.known.insert(name, data);
        Ok(())
    }

    async fn look(&self, name: &str) -> Result<(), Fate> {
        let path = format!("{}/{name}", self.path);
        let file = self.one(&format!("open {path}"), true, self.share.open(&path)).await?;
        let read = self.one(&format!("read {path}"), true, file.read_at(0, LOOKED_AT)).await;
        self.one("close", true, file.close()).await?;
        let wanted = &self.names.known[name];
        let judged = |read: Bytes| -> Result<(), Breach> {
            law!("bytes", read == wanted[..], "{} bytes of {path} are other ones", read.len());
            Ok(())
        };
        self.crew.judge(judged(read?));
        Ok(())
    }

    async fn rename(&mut self, name: String) -> Result<(), Fate> {
        let to = self.names.new_name();
        let (from, into) = (format!("{}/{name}", self.path), format!("{}/{to}", self.path));
        let renamed =
            self.one(&format!("rename {from}"), false, self.share.rename(&from, &into, false)).await;
        let data = self.names.known.get(&name).cloned().unwrap_or_default();
        self.names.doubt(name.clone());
        self.names.doubt(to.clone());
        renamed?;
        self.names.unsure.remove(&name);
        self.names.unsure.remove(&to);
        self.names.known.insert(to, data);
        Ok(())
    }

    async fn remove(&mut self, name: String) -> Result<(), Fate> {
        let path = format!("{}/{name}", self.path);
        self.names.doubt(name.clone());
        self.one(&format!("remove {path}"), true, self.share.remove(&path)).await?;
        // Who has opened it on a connection that is lost has it open until the session ends: it goes then.
        if self.crew.connections().1 == 0 {
            self.names.unsure.remove(&name);
        }
        Ok(())
    }

    /// Looks at what is in its directory.
    pub(super) async fn list(&mut self) -> Option<()> {
        let standing = Standing::of(&self.crew);
        match self.one("list", false, self.listed()).await {
            Ok(listed) => {
                let judged = self.names.is_listed(&listed);
                self.crew.judge(judged);
                if !standing.has_lost(&self.crew) {
                    self.crew.notes().count("listings");
                }
                Some(())
            }
            Err(Fate::Over) => None,
            Err(Fate::Unknown | Fate::Later) => Some(()),
        }
    }

    async fn listed(&self) -> Result<Vec<String>, Error> {
        let entries = self.share.list(&self.path).await?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }
}
