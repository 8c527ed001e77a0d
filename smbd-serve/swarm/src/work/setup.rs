//! What comes before the operations, and behind them.

use smbd_core::Instant;
use smbd_smb2::client::{Client, Operation, TreeHandle};
use smbd_smb2::security::{Credentials, Fresh, Initiator, NtHash, NtlmClient};
use smbd_smb2::wire::{
    AccessMask, CloseRequest, CreateDisposition, CreateOptions, CreateRequest, FileId, ImpersonationLevel,
    SessionId, ShareAccess, Text,
};

use super::Work;
use super::state::{Claim, File, Running, Todo, Tree, What};
use crate::memory::Watched;
use crate::mischief::Tapped;
use crate::shared::EPOCH;

/// Of the only user.
pub const USER: &str = "tester";
pub const PASSWORD: &str = "correct horse";

/// A request for a file or directory, for everything.
pub fn create(name: &str, disposition: CreateDisposition, options: CreateOptions) -> CreateRequest<'_> {
    CreateRequest {
        impersonation_level: ImpersonationLevel::IMPERSONATION,
        desired_access: AccessMask::MAXIMUM_ALLOWED,
        share_access: ShareAccess(7),
        create_disposition: disposition,
        create_options: options,
        name: Text::from(name),
        ..CreateRequest::default()
    }
}

impl What {
    /// An operation that has neither memory nor data of its own.
    pub const fn plain(self) -> Running {
        Running {
            what: self,
            claim: None,
            buffer: None,
            got: Vec::new(),
            checked: Vec::new(),
            is_covered: false,
            is_cancelled: false,
        }
    }

    /// One of which a file is not to have others at the same time.
    pub fn of_file(self, file: usize, claim: Claim) -> Running {
        Running { claim: Some((file, claim)), ..self.plain() }
    }
}

impl<M: Watched> Work<M> {
    /// Users log in, connect shares, make directories and open files.
    pub(super) fn set_up(&mut self) {
        let plan = self.shared.plan.clone();
        for session in 0..plan.sessions {
            self.sessions.push(None);
            self.todo.push_back(Todo::Login(session));
            let shares: &[&str] = if plan.protection.has_secret { &["data", "secret"] } else { &["data"] };
            for share in shares {
                let at = self.trees.len();
                self.trees.push(Tree { session, share, ..Tree::default() });
                self.todo.extend([Todo::Connect(at), Todo::MakeRoot(at)]);
                for number in 0..plan.files {
                    let mut files = self.files.borrow_mut();
                    let (name, is_lost) = (format!("d{at}\\f{number}"), !plan.is_trusted());
                    files.push(File { tree: at, name, is_lost, ..File::default() });
                    // Locks need two who want them.
                    let handles = 1 + self.chance.below(2);
                    self.todo.extend((0..handles).map(|_| Todo::Open(files.len() - 1)));
                }
            }
        }
    }

    /// Files are closed, shares disconnected and users logged off: most of them.
    pub(super) fn tear_down(&mut self, client: &mut Client, now: Instant) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            if self.chance.one_in(2) {
                self.cancel(client, now, id);
            }
        }
        let files = self.files.borrow();
        for (at, file) in files.iter().enumerate() {
            self.todo.extend(file.handles.iter().map(|_| Todo::Close(at)));
        }
        drop(files);
        for (at, tree) in self.trees.iter().enumerate() {
            if tree.root.is_some() {
                self.todo.push_back(Todo::CloseRoot(at));
            }
            if self.chance.one_in(2) {
                self.todo.push_back(Todo::Disconnect(at));
            }
        }
        self.todo.extend((0..self.sessions.len()).map(Todo::Logoff));
    }

    pub(super) fn fresh(&mut self) -> Fresh {
        self.entropy += 1;
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&self.shared.plan.seed.to_le_bytes());
        entropy[8..16].copy_from_slice(&self.entropy.to_le_bytes());
        Fresh::new(EPOCH, entropy)
    }

    pub(super) fn initiator(&self) -> Initiator {
        let hash = NtHash::of_password(PASSWORD);
        let user = Credentials::User { user: USER.into(), domain: String::new(), hash };
        let ntlm = NtlmClient::new(user, "CLIENT".into(), "cifs/server".into());
        Initiator::new(vec![Box::new(Tapped(ntlm, self.tap.clone()))])
    }

    /// Begins a step, or finds it impossible. Not if there is no room for it.
    pub(super) fn start(&mut self, client: &mut Client, now: Instant, todo: &Todo) -> bool {
        match *todo {
            Todo::Login(session) => {
                let (initiator, fresh) = (self.initiator(), self.fresh());
                let begun = client.login(now, initiator, fresh, SessionId::NONE);
                self.begun(begun, What::Login(session).plain())
            }
            Todo::Connect(at) => {
                let Some(session) = self.sessions[self.trees[at].session] else { return true };
                let path = format!(r"\\server\{}", self.trees[at].share);
                let begun = client.connect(now, session, &path);
                self.begun(begun, What::Connect(at).plain())
            }
            Todo::MakeRoot(at) => {
                let Some(tree) = self.trees[at].handle else { return true };
                let name = format!("d{at}");
                let request = create(&name, CreateDisposition::OPEN_IF, CreateOptions::DIRECTORY_FILE);
                let begun = client.submit(now, tree, &Operation::Create(request));
                self.begun(begun, What::MakeRoot(at).plain())
            }
            Todo::Open(at) => {
                let (tree, name) = {
                    let files = self.files.borrow();
                    (self.trees[files[at].tree].handle, files[at].name.clone())
                };
                let Some(tree) = tree else { return true };
                let request = create(&name, CreateDisposition::OPEN_IF, CreateOptions::NON_DIRECTORY_FILE);
                let begun = client.submit(now, tree, &Operation::Create(request));
                self.begun(begun, What::Open(at).plain())
            }
            Todo::Close(at) => self.close_file(client, now, at),
            Todo::CloseRoot(at) => {
                let Some((file_id, tree)) = self.trees[at].root.zip(self.trees[at].handle) else {
                    return true;
                };
                let has_begun = self.close(client, now, tree, file_id);
                self.trees[at].root = self.trees[at].root.filter(|_| !has_begun);
                has_begun
            }
            Todo::Disconnect(at) => {
                let Some(tree) = self.trees[at].handle else { return true };
                let begun = client.disconnect(now, tree);
                let has_begun = self.begun(begun, What::Disconnect.plain());
                self.trees[at].handle = Some(tree).filter(|_| !has_begun);
                has_begun
            }
            Todo::Logoff(at) => {
                let Some(session) = self.sessions[at] else { return true };
                let begun = client.logoff(now, session);
                let has_begun = self.begun(begun, What::Logoff.plain());
                self.sessions[at] = Some(session).filter(|_| !has_begun);
                has_begun
            }
        }
    }

    fn close_file(&mut self, client: &mut Client, now: Instant, at: usize) -> bool {
        let known = {
            let files = self.files.borrow();
            files[at].handles.last().copied().zip(self.trees[files[at].tree].handle)
        };
        let Some((file_id, tree)) = known else { return true };
        if !self.close(client, now, tree, file_id) {
            return false;
        }
        let file = &mut self.files.borrow_mut()[at];
        file.handles.pop();
        // Another one may wait for what this one has locked.
        file.lock.holder = None;
        for running in self.running.values_mut() {
            running.is_cancelled |= matches!(running.what, What::Lock { file, .. } if file == at);
        }
        true
    }

    fn close(&mut self, client: &mut Client, now: Instant, tree: TreeHandle, file_id: FileId) -> bool {
        let request = CloseRequest { file_id, ..CloseRequest::default() };
        let begun = client.submit(now, tree, &Operation::Close(request));
        self.begun(begun, What::Close.plain())
    }
}
