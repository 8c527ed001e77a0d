//! The transport connection: connecting, accepting, ending, and its events.

use std::collections::VecDeque;

use smbd_core::error::{ConnectReason, DisconnectReason};

use super::Device;
use crate::fabric::{Fabric, Notice};
use crate::fault::Faults;
use crate::nic::{Personality, QpState};
use crate::probe::Probe;
use crate::{Breach, Side};

/// Invalid argument.
const EINVAL: i32 = 22;

/// News of the transport connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkNews {
    Connected,
    ConnectFailed,
    Disconnected(DisconnectReason),
}

impl LinkNews {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Connected => "Connected",
            Self::ConnectFailed => "ConnectFailed",
            Self::Disconnected(DisconnectReason::Local) => "Disconnected, by this side",
            Self::Disconnected(DisconnectReason::PeerClosed) => "Disconnected, closed by the peer",
            Self::Disconnected(DisconnectReason::PeerAborted) => "Disconnected, aborted by the peer",
            Self::Disconnected(DisconnectReason::Unreachable) => "Disconnected, without an answer",
            Self::Disconnected(DisconnectReason::DeviceFailed) => "Disconnected, by the device",
            Self::Disconnected(_) => "Disconnected, for an unknown reason",
        }
    }

    /// What a notice is about, if that is the transport connection.
    pub(super) const fn of(notice: Notice) -> Option<Self> {
        match notice {
            Notice::Connected => Some(Self::Connected),
            Notice::ConnectFailed(_) | Notice::NeverUp => Some(Self::ConnectFailed),
            Notice::Disconnected(reason) => Some(Self::Disconnected(reason)),
            Notice::Registered(_) | Notice::RegistrationFailed(..) | Notice::Deregistered(_) => None,
        }
    }
}

/// Where an end is with the transport connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    /// `Connect` or `Accept` was carried out.
    pub(crate) started: bool,
    /// It is known to be up.
    pub(crate) up: bool,
    /// It is known, or soon will be, to be over.
    pub(crate) ended: bool,
    /// `Disconnect` was carried out.
    pub(crate) disconnected: bool,
    /// The peer was asked for the connection, or told that it is taken.
    asked: bool,
    /// What has to be told of it, in order.
    pub(super) news: VecDeque<LinkNews>,
}

impl Device {
    /// Whether the transport connection was taken or asked for, and is not over.
    pub(crate) const fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) const fn settle_read_depth(&mut self, peer: u16) {
        self.read_depth = if self.nic.config.read_depth < peer { self.nic.config.read_depth } else { peer };
    }

    pub(crate) const fn read_depth(&self) -> u16 {
        self.read_depth
    }

    pub(super) fn connect<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.side != Side::Initiator || std::mem::replace(&mut self.link.started, true) {
            return self.nic.breaches.record(Breach::Action("Connect"));
        }
        if self.queues.is_broken() {
            return self.not_asked(fabric);
        }
        self.link.asked = true;
        fabric.connect(self.nic.config.read_depth);
    }

    /// A receive that was to be there first was refused: the peer hears nothing of it.
    fn not_asked<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.notice(Notice::ConnectFailed(ConnectReason::Other(EINVAL)), fabric);
    }

    pub(super) fn accept<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.side != Side::Acceptor || std::mem::replace(&mut self.link.started, true) {
            return self.nic.breaches.record(Breach::Action("Accept"));
        }
        if self.queues.is_broken() {
            return self.not_asked(fabric);
        }
        if self.requested {
            self.accept_request(fabric);
        }
    }

    fn accept_request<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.link.asked = true;
        self.nic.establish(self.read_depth);
        fabric.accept(self.read_depth);
    }

    /// The initiator's request is here.
    pub(crate) fn requested<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.requested = true;
        if self.link.started && !self.link.disconnected && !self.link.ended {
            self.accept_request(fabric);
        }
    }

    pub(super) fn disconnect<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if std::mem::replace(&mut self.link.disconnected, true) {
            return self.nic.breaches.record(Breach::Action("Disconnect"));
        }
        self.leave(DisconnectReason::PeerClosed, fabric);
    }

    /// The process is gone: its system ends the connection for it, if it has not done so.
    pub(crate) fn die<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if !std::mem::replace(&mut self.link.disconnected, true) {
            let as_seen = match self.nic.config.personality {
                Personality::Roce => DisconnectReason::PeerClosed,
                Personality::Iwarp => DisconnectReason::PeerAborted,
            };
            self.leave(as_seen, fabric);
        }
    }

    fn leave<F: Faults, P: Probe>(&mut self, as_seen: DisconnectReason, fabric: &mut Fabric<F, P>) {
        if self.nic.config.loses_flushes {
            self.nic.destroy();
        } else {
            self.nic.flush();
        }
        self.look(fabric);
        fabric.disconnect(self.side, as_seen, self.link.asked, !self.link.ended);
    }

    /// The queue pair breaks, for a reason of its own.
    pub(crate) fn break_queue_pair<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.nic.state() == QpState::Ready {
            self.nic.flush();
            self.look(fabric);
        }
    }

    /// Something came to the device's notice; it is seen at the next look.
    pub(crate) fn notice<F: Faults, P: Probe>(&mut self, notice: Notice, fabric: &mut Fabric<F, P>) {
        let news = match notice {
            Notice::Connected => !self.link.ended && !std::mem::replace(&mut self.link.up, true),
            Notice::ConnectFailed(_) | Notice::NeverUp => {
                !self.link.up && !std::mem::replace(&mut self.link.ended, true)
            }
            Notice::Disconnected(_) => !std::mem::replace(&mut self.link.ended, true),
            Notice::Registered(_) | Notice::RegistrationFailed(..) | Notice::Deregistered(_) => true,
        };
        // Who it is told to works out for itself whether it is news.
        match notice {
            Notice::Connected => self.link_reports.connected(self.nic.config.limits(self.read_depth)),
            Notice::ConnectFailed(reason) => self.link_reports.connect_failed(reason),
            Notice::NeverUp => self.link_reports.connect_failed(ConnectReason::Unreachable),
            Notice::Disconnected(reason) => self.link_reports.disconnected(reason),
            Notice::Registered(_) | Notice::RegistrationFailed(..) | Notice::Deregistered(_) => {}
        }
        let of_link = LinkNews::of(notice);
        self.link.news.extend(of_link.filter(|_| news));
        // What is no news is heard all the same, and must not be told.
        if news || of_link.is_some() {
            self.inbox.push_back(notice);
            self.look(fabric);
        }
    }

    /// There may be something to see.
    pub(crate) fn look<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.due.is_none() {
            let late = fabric.faults.completion_late(fabric.now, self.side, &mut fabric.rng);
            self.due = Some(fabric.now.saturating_add(late));
        }
    }
}
