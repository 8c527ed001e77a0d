//! What is asked for next.

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::client::{
    BufferId, Client, Operation, OperationId, Protection, Read, SingleMessage, TreeHandle, Write, WriteData,
};
use smbd_smb2::wire::{
    ChangeNotifyFlags, ChangeNotifyRequest, CloseRequest, Command, CompletionFilter, CreateDisposition,
    CreateOptions, DirectoryInformationClass, FileId, FlushRequest, InfoType, List, LockElement, LockFlags,
    LockRequest, QueryDirectoryFlags, QueryDirectoryRequest, QueryInfoRequest, SetInfoRequest, Text,
    WriteFlags, info::class,
};

use super::Work;
use super::setup::create;
use super::state::{Claim, Running, Step, What};
use crate::memory::Watched;

/// Where locks are: data are never there.
const LOCKED: u64 = 1 << 40;
/// The most bytes of a file.
const FILE_MAX: usize = 1 << 18;

impl<M: Watched> Work<M> {
    /// Begins something. Whether anything has begun.
    pub(super) fn choose(&mut self, client: &mut Client, now: Instant) -> bool {
        const MOOD: [usize; 13] = [20, 16, 2, 2, 4, 12, 6, 4, 2, 3, 2, 1, 1];
        let files = self.files.borrow().len();
        if files == 0 {
            return false;
        }
        let file = self.chance.below(files);
        let tree = self.chance.below(self.trees.len());
        match self.chance.weighted(&MOOD) {
            Some(0) => self.read(client, now, file),
            Some(1) => self.write(client, now, file),
            Some(2) => self.resize(client, now, file),
            Some(3) => self.flush(client, now, file),
            Some(4) => self.size(client, now, file),
            Some(5) => self.lock(client, now, file),
            Some(6) => self.temp(client, now, tree),
            Some(7) => self.list(client, now, tree, true),
            Some(8) => self.notify(client, now, tree),
            Some(9) => {
                let ids: Vec<_> = self.running.keys().copied().collect();
                if ids.is_empty() {
                    return false;
                }
                let id = self.chance.pick(&ids);
                self.cancel(client, now, id)
            }
            Some(10) => self.reauthenticate(client, now),
            _ => self.echo(client, now),
        }
    }

    /// The tree connect and one of the handles of a file.
    fn place(&mut self, file: usize) -> Option<(TreeHandle, FileId)> {
        let files = self.files.borrow();
        let file = files.get(file)?;
        let tree = self.trees[file.tree].handle?;
        let handle = if file.handles.is_empty() { return None } else { self.chance.pick(&file.handles) };
        Some((tree, handle))
    }

    fn is_free(&self, file: usize, claim: &Claim) -> bool {
        let others = self.running.values().filter_map(|running| running.claim.as_ref());
        !others.clone().any(|(other, has)| *other == file && has.excludes(claim))
    }

    /// Memory for a transfer, if it goes by RDMA.
    fn buffer(&mut self, client: &Client, tree: TreeHandle, len: usize, data: &[u8]) -> Option<BufferId> {
        if !client.uses_channel(tree, len as u64) || len == 0 {
            return None;
        }
        let memory = M::allocate(u32::try_from(len).ok()?).ok()?;
        // What is encrypted gets there when it is.
        if !data.is_empty() && client.protection(tree) != Some(Protection::Encrypted) {
            memory.fill(0, data).ok()?;
        }
        self.buffers += 1;
        let buffer = BufferId(self.buffers);
        self.memory.insert(buffer, memory);
        self.shared.notes.count("transfers by RDMA");
        Some(buffer)
    }

    /// Bytes of a transfer: often a few, and often many.
    fn length(&mut self, least: usize) -> usize {
        let most = self.shared.plan.transfer_max;
        if self.chance.one_in(3) { least + self.chance.below(most) } else { self.chance.size(least, most) }
    }

    fn read(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let Some((tree, file_id)) = self.place(file) else { return false };
        let size = self.files.borrow()[file].content.len();
        if size == 0 && !self.chance.one_in(8) {
            return self.write(client, now, file);
        }
        let offset = self.chance.below(size + size / 8 + 1);
        let len = self.length(usize::from(offset >= size));
        let claim = Claim::Reads(offset..offset + len);
        if !self.is_free(file, &claim) {
            return false;
        }
        let buffer = self.buffer(client, tree, len, &[]);
        let read = Read { file_id, offset: offset as u64, length: len as u64, buffer, ..Read::default() };
        let is_covered = buffer.is_some() && client.protection(tree) != Some(Protection::None);
        let begun = client.submit(now, tree, &Operation::Read(read));
        let running = What::Read { file, offset, len }.of_file(file, claim);
        self.begun(begun, Running { buffer, got: vec![0; len], is_covered, ..running })
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..len.div_ceil(8)).flat_map(|_| self.chance.bits().to_le_bytes()).collect();
        bytes.truncate(len);
        bytes
    }

    fn write(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let Some((tree, file_id)) = self.place(file) else { return false };
        let size = self.files.borrow()[file].content.len();
        let grows = size == 0 || self.chance.one_in(4);
        let (offset, len) = if grows {
            let hole = if self.chance.one_in(4) { self.chance.size(0, 3000) } else { 0 };
            (size + hole, self.length(1))
        } else {
            let offset = self.chance.below(size);
            (offset, self.length(1).min(size - offset))
        };
        let claim = if grows { Claim::All } else { Claim::Writes(offset..offset + len) };
        if offset + len > FILE_MAX || !self.is_free(file, &claim) {
            return false;
        }
        let data = self.bytes(len);
        let buffer = self.buffer(client, tree, len, &data);
        let bytes = Bytes::from(data.clone());
        let source = match buffer {
            Some(buffer) if self.chance.one_in(2) => WriteData::Buffer(buffer, len as u64),
            buffer => WriteData::Bytes(bytes, buffer),
        };
        let write = Write { file_id, offset: offset as u64, flags: WriteFlags(0), data: source };
        let begun = client.submit(now, tree, &Operation::Write(write));
        let running = What::Write { file, offset, data }.of_file(file, claim);
        self.begun(begun, Running { buffer, ..running })
    }

    fn resize(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let Some((tree, file_id)) = self.place(file) else { return false };
        let size = self.chance.size(0, self.files.borrow()[file].content.len() + 5000).min(FILE_MAX);
        if !self.is_free(file, &Claim::All) {
            return false;
        }
        let input = (size as u64).to_le_bytes();
        let set = SetInfoRequest {
            info_type: InfoType::FILE,
            info_class: class::FILE_END_OF_FILE,
            file_id,
            input: &input,
            ..SetInfoRequest::default()
        };
        let begun = client.submit(now, tree, &Operation::SetInfo(set));
        self.begun(begun, What::Resize { file, size }.of_file(file, Claim::All))
    }

    fn flush(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let Some((tree, file_id)) = self.place(file) else { return false };
        let begun = client.submit(now, tree, &Operation::Flush(FlushRequest { file_id }));
        self.begun(begun, What::Flush.plain())
    }

    fn size(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let Some((tree, file_id)) = self.place(file) else { return false };
        let claim = Claim::Reads(0..0);
        if !self.is_free(file, &claim) {
            return false;
        }
        let query = QueryInfoRequest {
            info_type: InfoType::FILE,
            info_class: class::FILE_STANDARD,
            output_buffer_length: 24,
            file_id,
            ..QueryInfoRequest::default()
        };
        let begun = client.submit(now, tree, &Operation::QueryInfo(query));
        self.begun(begun, What::Size { file }.of_file(file, claim))
    }

    /// Locks and unlocks the range that all want. Whoever comes second is refused, or waits.
    fn lock(&mut self, client: &mut Client, now: Instant, file: usize) -> bool {
        let (tree, handles, holder, is_waited, is_busy) = {
            let files = self.files.borrow();
            let it = &files[file];
            let tree = self.trees[it.tree].handle;
            (tree, it.handles.clone(), it.lock.holder, it.lock.waiting.is_some(), it.lock.is_busy)
        };
        let Some(tree) = tree.filter(|_| !is_busy && !handles.is_empty()) else { return false };
        let unlocks = holder.filter(|_| self.chance.one_in(2));
        let handle = unlocks.unwrap_or_else(|| self.chance.below(handles.len()));
        if unlocks.is_none() && (is_waited || holder == Some(handle)) {
            return false;
        }
        // Nothing is known of the rest of an operation that was given up.
        if self.files.borrow()[file].is_lost {
            return false;
        }
        let waits = unlocks.is_none() && holder.is_some() && self.chance.one_in(2);
        let flags = match (unlocks, waits) {
            (Some(_), _) => LockFlags::UNLOCK,
            (None, true) => LockFlags::EXCLUSIVE_LOCK,
            (None, false) => LockFlags::EXCLUSIVE_LOCK.with(LockFlags::FAIL_IMMEDIATELY, true),
        };
        let locks = [LockElement { offset: LOCKED, length: 10, flags }];
        let request = LockRequest { lock_sequence: 0, file_id: handles[handle], locks: List::from(&locks) };
        let begun = client.submit(now, tree, &Operation::Lock(request));
        let id = begun.as_ref().ok().copied();
        let what = match unlocks {
            Some(_) => What::Unlock { file, handle },
            None => What::Lock { file, handle, waits },
        };
        let has_begun = self.begun(begun, what.plain());
        if let Some(id) = id {
            let lock = &mut self.files.borrow_mut()[file].lock;
            if waits {
                lock.waiting = Some((id, handle));
            } else {
                lock.is_busy = true;
            }
        }
        has_begun
    }

    /// A compound: a file is made, looked at or removed.
    fn temp(&mut self, client: &mut Client, now: Instant, at: usize) -> bool {
        let tree = &mut self.trees[at];
        let Some(handle) = tree.handle.filter(|_| tree.root.is_some() && tree.listing.is_none()) else {
            return false;
        };
        let busy: Vec<String> = self
            .running
            .values()
            .filter_map(|running| match &running.what {
                What::Temp { tree, name, .. } if *tree == at => Some(name.clone()),
                _ => None,
            })
            .collect();
        let known: Vec<String> = tree.temps.keys().filter(|name| !busy.contains(name)).cloned().collect();
        let kind = if known.is_empty() { 0 } else { self.chance.below(3) };
        let name = if kind == 0 {
            tree.made += 1;
            format!("t{}", tree.made)
        } else {
            known[self.chance.below(known.len())].clone()
        };
        let path = format!("d{at}\\{name}");
        let data = if kind == 0 {
            let len = self.chance.size(1, 300);
            self.bytes(len)
        } else {
            self.trees[at].temps.get(&name).cloned().unwrap_or_default()
        };
        let file_id = FileId::RELATED;
        let close = Operation::Close(CloseRequest { file_id, ..CloseRequest::default() });
        let bytes = WriteData::Bytes(Bytes::from(data.clone()), None);
        let write = Write { file_id, offset: 0, flags: WriteFlags(0), data: bytes };
        let read = Read { file_id, length: data.len() as u64, ..Read::default() };
        let options = CreateOptions::NON_DIRECTORY_FILE;
        let (first, middle, steps) = match kind {
            0 => {
                let steps = vec![Step::Make, Step::Fill(data.clone()), Step::Close(Some(data.clone()))];
                (create(&path, CreateDisposition::CREATE, options), Some(Operation::Write(write)), steps)
            }
            1 => {
                let steps = vec![Step::Open, Step::Look, Step::Close(Some(data.clone()))];
                (create(&path, CreateDisposition::OPEN, options), Some(Operation::Read(read)), steps)
            }
            _ => {
                let options = options.with(CreateOptions::DELETE_ON_CLOSE, true);
                (create(&path, CreateDisposition::OPEN, options), None, vec![Step::Remove, Step::Close(None)])
            }
        };
        let operations: Vec<_> =
            [Operation::Create(first)].into_iter().chain(middle).chain([close]).collect();
        match client.submit_related(now, handle, &operations) {
            Ok(ids) => {
                self.trees[at].changing += steps.len();
                for (id, step) in ids.into_iter().zip(steps) {
                    let got = if step == Step::Look { vec![0; data.len()] } else { Vec::new() };
                    let running = What::Temp { tree: at, name: name.clone(), step }.plain();
                    self.begun(Ok(id), Running { got, ..running });
                }
                self.shared.notes.count("compounds");
                true
            }
            Err(refused) => {
                self.refused(refused);
                false
            }
        }
    }

    /// Begins to list a directory, or goes on.
    pub(super) fn list(&mut self, client: &mut Client, now: Instant, at: usize, restarts: bool) -> bool {
        let tree = &mut self.trees[at];
        if restarts && (tree.changing > 0 || tree.listing.is_some()) {
            return false;
        }
        let Some((handle, file_id)) = tree.handle.zip(tree.root) else { return false };
        let request = QueryDirectoryRequest {
            information_class: DirectoryInformationClass::DIRECTORY,
            flags: QueryDirectoryFlags(0).with(QueryDirectoryFlags::RESTART_SCANS, restarts),
            file_id,
            output_buffer_length: self.chance.pick(&[200, 400, 65_536]),
            pattern: Text::from("*"),
            ..QueryDirectoryRequest::default()
        };
        let begun = client.submit(now, handle, &Operation::QueryDirectory(request));
        let has_begun = self.begun(begun, What::List(at).plain());
        if has_begun && restarts {
            self.trees[at].listing = Some(Vec::new());
        }
        has_begun
    }

    fn notify(&mut self, client: &mut Client, now: Instant, at: usize) -> bool {
        let Some((handle, file_id)) = self.trees[at].handle.zip(self.trees[at].root) else { return false };
        let request = ChangeNotifyRequest {
            flags: ChangeNotifyFlags(0),
            output_buffer_length: 1000,
            file_id,
            completion_filter: CompletionFilter(0xFFF),
        };
        let begun = client.submit(now, handle, &Operation::ChangeNotify(request));
        self.begun(begun, What::Notify.plain())
    }

    pub(super) fn cancel(&mut self, client: &mut Client, now: Instant, id: OperationId) -> bool {
        let Some(running) = self.running.get_mut(&id) else { return false };
        // What has begun is to be seen to its end.
        let is_possible = match running.what {
            What::Read { .. } | What::Flush | What::Size { .. } | What::Notify => true,
            What::Write { .. } => !matches!(running.claim, Some((_, Claim::All))),
            What::Lock { waits, .. } => waits,
            _ => false,
        };
        if !is_possible {
            return false;
        }
        running.is_cancelled = true;
        self.shared.notes.step(|| format!("client: cancels {id:?}"));
        self.shared.notes.count("cancelled");
        // One that has ended, and whose result was not told yet, is not there.
        client.cancel(now, id).is_ok()
    }

    fn reauthenticate(&mut self, client: &mut Client, now: Instant) -> bool {
        let is_running = self.running.values().any(|running| running.what == What::Reauthenticate);
        let at = self.chance.below(self.sessions.len());
        let Some(session) = self.sessions[at].filter(|_| !is_running) else { return false };
        let (initiator, fresh) = (self.initiator(), self.fresh());
        let begun = client.reauthenticate(now, session, initiator, fresh);
        self.begun(begun, What::Reauthenticate.plain())
    }

    fn echo(&mut self, client: &mut Client, now: Instant) -> bool {
        let message = SingleMessage { command: Command::ECHO, payload: 0, body: &[4, 0, 0, 0] };
        let begun = client.message(now, None, message);
        self.begun(begun, What::Echo.plain())
    }
}
