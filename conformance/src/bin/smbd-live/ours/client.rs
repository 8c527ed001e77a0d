//! The client's side of the exercise protocol, with calls that wait.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Config};
use smbd_tools::exercise::{Answer, Request};
use smbd_verbs::blocking::Connection;

use super::calls::Calls;
use crate::case::Failure;
use crate::patience::PATIENCE;

/// A client of a [`Serving`](super::serving::Serving).
#[derive(Debug)]
pub(crate) struct Client<C = Connection> {
    pub(crate) connection: C,
    tag: u32,
}

/// A buffer of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offered {
    pub(crate) id: u32,
    pub(crate) whole: BufferDescriptorV1,
}

impl<C: Calls> Client<C> {
    pub(crate) fn connect(to: SocketAddr, config: &Config) -> Result<Self, Failure> {
        Ok(Self::over(C::connect(to, config)?))
    }

    pub(crate) const fn over(connection: C) -> Self {
        Self { connection, tag: 0 }
    }

    /// Asks, and waits for the answer. Nothing else may be under way.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.tag += 1;
        self.connection.send(request.encode(self.tag))?;
        let message = self.connection.recv(PATIENCE)?;
        match Answer::parse(&message)? {
            Some(answer) if answer.tag == self.tag => match answer.what {
                Answer::Failed(failure) => Err(failure.into()),
                what => Ok(what),
            },
            other => Err(format!("instead of answer {} came {other:?}", self.tag).into()),
        }
    }

    pub(crate) fn offer(&mut self, length: u32, access: Access, seed: u64) -> Result<Offered, Failure> {
        match self.ask(&Request::Offer { length, access, seed })? {
            Answer::Offered { id, descriptors } => match descriptors[..] {
                [whole] => Ok(Offered { id, whole }),
                _ => Err(format!("{} descriptors for one buffer", descriptors.len()).into()),
            },
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn withdraw(&mut self, offered: Offered) -> Result<(), Failure> {
        self.ask(&Request::Withdraw { id: offered.id }).map(|_| ())
    }

    /// The hash of an offered buffer as the server sees it.
    pub(crate) fn hash(&mut self, offered: Offered) -> Result<u64, Failure> {
        hash_of(self.ask(&Request::Hash { id: offered.id, offset: 0, length: offered.whole.length })?)
    }

    /// Has the server read memory of this side; returns the hash of what it got.
    pub(crate) fn be_read(
        &mut self,
        descriptors: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        length: u32,
    ) -> Result<u64, Failure> {
        hash_of(self.ask(&Request::Read { offset, length, descriptors: Arc::clone(descriptors) })?)
    }

    /// Ends in good order.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self.connection.close(PATIENCE)? {
            CloseReason::Local => Ok(()),
            other => Err(format!("instead of a close: {other}").into()),
        }
    }
}

fn hash_of(answer: Answer) -> Result<u64, Failure> {
    match answer {
        Answer::Hash(hash) => Ok(hash),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(answer: &Answer) -> Failure {
    format!("unexpected answer {answer:?}").into()
}
