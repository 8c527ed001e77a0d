//! What can be submitted again when a connection was lost, and nobody knows whether the server has carried it out (3.2.7.1, 3.3.5.2.10).

use smbd_core::Instant;

use super::facade::Client;
use super::ids::{OperationId, TreeHandle};
use super::operation::Operation;
use super::reason::Refused;
use super::replay_error::NotReplayable;
use crate::wire::{
    Capabilities, ControlCode, CreateContext, InfoType, IoctlRequest, QueryDirectoryFlags, SetInfoRequest,
    info::class,
};

/// How an operation is submitted again that was under way on a connection that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// As it was: it changes nothing, or carrying it out twice is the same as once.
    Again,
    /// With SMB2_FLAGS_REPLAY_OPERATION and the new ChannelSequence: then the server takes it only when nothing of the old connection is
    /// under way any more, and takes nothing of that later.
    Marked,
}

impl Operation<'_> {
    /// How it is submitted again when nobody knows whether it was carried out.
    ///
    /// # Errors
    /// [`NotReplayable`]: that is not safe.
    pub fn replay(&self) -> Result<Replay, NotReplayable> {
        match self {
            // Closed twice, a file is closed.
            Self::Read(_) | Self::Flush(_) | Self::QueryInfo(_) | Self::Close(_) => Ok(Replay::Again),
            Self::Write(_) => Ok(Replay::Marked),
            Self::SetInfo(request) => set_info(request),
            Self::Ioctl(request) => ioctl(request),
            Self::QueryDirectory(request) => {
                let restarts = [QueryDirectoryFlags::RESTART_SCANS, QueryDirectoryFlags::REOPEN];
                match restarts.iter().any(|flag| request.flags.contains(*flag)) {
                    true => Ok(Replay::Again),
                    false => Err(NotReplayable::QueryDirectory),
                }
            }
            Self::Create(request) => {
                let mut contexts = request.contexts.iter().filter_map(Result::ok);
                match contexts.any(|context| context.name == CreateContext::DURABLE_HANDLE_REQUEST_V2) {
                    true => Ok(Replay::Marked),
                    false => Err(NotReplayable::Create),
                }
            }
            Self::Lock(_) => Err(NotReplayable::Command("LOCK")),
            Self::ChangeNotify(_) => Err(NotReplayable::Command("CHANGE_NOTIFY")),
            Self::OplockBreak(_) | Self::LeaseBreak(_) => Err(NotReplayable::Command("OPLOCK_BREAK")),
            Self::Message(_) => Err(NotReplayable::Command("a single message")),
        }
    }
}

const fn set_info(request: &SetInfoRequest<'_>) -> Result<Replay, NotReplayable> {
    match (request.info_type, request.info_class) {
        (InfoType::FILE, class @ (class::FILE_RENAME | class::FILE_LINK)) => {
            Err(NotReplayable::SetInfo { class })
        }
        _ => Ok(Replay::Marked),
    }
}

const fn ioctl(request: &IoctlRequest<'_>) -> Result<Replay, NotReplayable> {
    match request.control_code {
        ControlCode::QUERY_NETWORK_INTERFACE_INFO | ControlCode::VALIDATE_NEGOTIATE_INFO => Ok(Replay::Again),
        other => Err(NotReplayable::Ioctl(other)),
    }
}

impl Client {
    /// Submits an operation that was under way on a connection of the same session that is lost. The connections that are left are told
    /// by [`Client::set_channel_sequence`] first. A server where the old one is still under way answers STATUS_FILE_NOT_AVAILABLE; then it
    /// is tried again later (3.2.5.12).
    ///
    /// # Errors
    /// [`Refused::NotReplayable`], and others as of [`Client::submit`].
    pub fn replay(
        &mut self,
        now: Instant,
        tree: TreeHandle,
        operation: &Operation<'_>,
    ) -> Result<OperationId, Refused> {
        let is_marked = operation.replay()? == Replay::Marked;
        let server = self.negotiated().map_or(Capabilities::NONE, |negotiated| negotiated.capabilities);
        let knows = [Capabilities::MULTI_CHANNEL, Capabilities::PERSISTENT_HANDLES];
        if is_marked && !knows.iter().any(|can| server.contains(*can)) {
            return Err(NotReplayable::Server(server).into());
        }
        self.machine.submit(tree, operation, is_marked, now)
    }
}
