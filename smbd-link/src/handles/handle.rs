//! The state that both halves of a connection share.

use std::sync::Arc;

use ::tokio::sync::watch;

use super::PollReady;
use super::shared::Shared;
use crate::Failure;
use smbd_core::error::CloseReason;

pub(super) type FailureOf<B> = Failure<<B as PollReady>::Error>;
pub(super) type Ended<B> = watch::Receiver<Option<Result<CloseReason, FailureOf<B>>>>;

/// A reference to a connection, in each half.
pub(super) struct Handle<B: PollReady> {
    alive: Arc<Alive<B::Error>>,
    ended: Ended<B>,
}

/// Dropping the last one ends the connection.
struct Alive<E>(Arc<Shared<E>>);

impl<B: PollReady> Handle<B> {
    pub(super) fn new(shared: Arc<Shared<B::Error>>, ended: Ended<B>) -> Self {
        Self { alive: Arc::new(Alive(shared)), ended }
    }

    pub(super) fn shared(&self) -> &Shared<B::Error> {
        &self.alive.0
    }

    /// The reason why commands are refused.
    pub(super) fn over(&self) -> FailureOf<B> {
        // It was closed by another handle, whose closing goes on.
        self.shared().over().unwrap_or(Failure::Closed(CloseReason::Local))
    }

    pub(super) async fn ended(&self) -> Result<CloseReason, FailureOf<B>> {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(ending) => ending.clone().unwrap_or(Err(Failure::NoDriver)),
            Err(_) => Err(Failure::NoDriver),
        }
    }
}

impl<B: PollReady> Clone for Handle<B> {
    fn clone(&self) -> Self {
        Self { alive: Arc::clone(&self.alive), ended: self.ended.clone() }
    }
}

impl<E> Drop for Alive<E> {
    fn drop(&mut self) {
        self.0.wish(|wishes| wishes.abandoned = true);
    }
}
