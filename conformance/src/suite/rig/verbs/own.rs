//! `smbd-core` over `smbd-verbs` as the subject: endpoints with an upper layer that returns messages and does RDMA on
//! request, until a case controls it.

use std::os::fd::{AsFd, BorrowedFd};

use smbd_core::{Config, ConfigError, Instant, Params, Role};
use smbd_verbs::{Listener, VerbsConnection};

use super::super::real::{Net as _, Subject};
use super::super::{Opening, Unable, UpperHand};
use super::driven::Driven;
use super::net::{VerbsNet, broken};
use crate::suite::trace::Event;

/// The subject.
pub(super) struct Own {
    net: VerbsNet,
    params: Params,
    config: Config,
    listener: Option<Listener>,
    connections: Vec<Driven>,
    faults: Vec<String>,
}

impl Own {
    /// One that accepts.
    pub(super) fn listening(net: VerbsNet, params: Params) -> Result<Self, Unable> {
        Ok(Self { listener: Some(net.listen()?), ..Self::connecting(net, params)? })
    }

    /// One that connects.
    pub(super) fn connecting(net: VerbsNet, params: Params) -> Result<Self, Unable> {
        let config = Config::try_from(params.clone()).map_err(|error| Unable::Broken(error.to_string()))?;
        Ok(Self { net, params, config, listener: None, connections: Vec::new(), faults: Vec::new() })
    }

    /// Takes a request for the connection that waits for one; of several the last, since those before may never be asked
    /// for.
    fn accept(&mut self) -> Result<(), smbd_verbs::Error> {
        let Some(listener) = &mut self.listener else { return Ok(()) };
        let Some(incoming) = listener.poll()? else { return Ok(()) };
        let end = incoming.accept(&self.config, self.net.clock)?;
        if let Some(driven) = self.connections.iter_mut().rev().find(|driven| driven.waits()) {
            driven.begin(end);
        }
        Ok(())
    }
}

impl Subject for Own {
    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        let mut params = self.params.clone();
        settings(&mut params);
        Ok(Config::try_from(params).map(|config| self.config = config))
    }

    fn open(&mut self, opening: &Opening) -> Result<(), Unable> {
        let role = if self.listener.is_some() { Role::Acceptor } else { Role::Initiator };
        let driven = Driven::new(role, &self.config, self.net.clock, opening.send_with_invalidate);
        self.connections.push(driven);
        Ok(())
    }

    fn heeds_invalidation(&self) -> bool {
        true
    }

    fn connect(&mut self) -> Result<(), Unable> {
        let end =
            VerbsConnection::connect(self.net.at, None, &self.config, self.net.clock).map_err(broken)?;
        match self.connections.last_mut() {
            Some(driven) => driven.begin(end),
            None => return Err(Unable::Broken("no connection was opened".into())),
        }
        Ok(())
    }

    fn drive(&mut self) -> Option<Instant> {
        if let Err(error) = self.accept() {
            self.faults.push(error.to_string());
        }
        self.connections.iter_mut().filter_map(Driven::drive).min()
    }

    fn arm(&mut self) -> bool {
        self.connections.iter_mut().any(Driven::arm)
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let listener = self.listener.as_ref().map(AsFd::as_fd);
        self.connections.iter().filter_map(Driven::fd).chain(listener).collect()
    }

    fn gave_up(&self) -> bool {
        self.connections.last().is_some_and(Driven::is_spent)
    }

    fn is_over(&self) -> bool {
        self.connections.iter().all(Driven::is_over)
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.connections.get_mut(connection).map(|driven| driven as &mut dyn UpperHand)
    }

    fn seen(&mut self) -> Vec<Event> {
        let all = self.connections.iter_mut().enumerate();
        let mut events: Vec<_> = all.flat_map(|(index, driven)| driven.take_events(index)).collect();
        events.sort_by_key(|event| event.at);
        events
    }

    fn faults(&self) -> Vec<String> {
        let broken = self.connections.iter().filter_map(Driven::fault);
        self.faults.iter().cloned().chain(broken).collect()
    }
}
