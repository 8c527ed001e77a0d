//! Results of the client, in what handles take.

use bytes::Bytes;
use smbd_smb2::client::{self, SessionHandle, TreeHandle};
use smbd_smb2::wire::{CreateResponse, Response};

use super::command::{Opened, Reply};
use super::stat::Stat;
use crate::Error;

/// What came of an operation, without anything that is borrowed.
#[derive(Debug)]
pub(super) enum Done {
    Reply(Reply),
    Session(SessionHandle),
    Tree(TreeHandle),
    Read(u64),
}

impl Done {
    pub(super) fn of(reply: client::Reply<'_>) -> Result<Self, Error> {
        Ok(match reply {
            client::Reply::Session(session) => Self::Session(session),
            client::Reply::Tree(tree, _) => Self::Tree(tree),
            client::Reply::Read(count) => Self::Read(count),
            client::Reply::Written(count) => Self::Reply(Reply::Written(count)),
            client::Reply::Answer(_, response) => Self::Reply(of_file(response)?),
            _ => Self::Reply(Reply::Nothing),
        })
    }
}

/// The answer to a request about a file.
fn of_file(response: Response<'_>) -> Result<Reply, Error> {
    match response {
        Response::Create(created) => Ok(Reply::Opened(opened(&created))),
        Response::QueryDirectory(listed) => Ok(Reply::Data(Bytes::copy_from_slice(listed.output))),
        Response::Ioctl(answer) => Ok(Reply::Data(Bytes::copy_from_slice(answer.output))),
        Response::Close(_) | Response::Flush(_) | Response::SetInfo(_) => Ok(Reply::Nothing),
        _ => Err(Error::Answer("any that was sent")),
    }
}

const fn opened(created: &CreateResponse<'_>) -> Opened {
    Opened {
        file_id: created.file_id,
        stat: Stat {
            size: created.end_of_file,
            created: created.creation_time,
            written: created.last_write_time,
            attributes: created.file_attributes,
        },
    }
}
