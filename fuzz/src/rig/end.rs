//! From any state to the end: everything comes back, and the connection says so.

use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Input, PhaseName, WrId};

use super::{Rig, Setup, Step, Watch};

impl Rig {
    /// Plays steps on a new connection, and sees it to its end.
    pub fn play(setup: &Setup, steps: impl Iterator<Item = Step>, watch: Watch) {
        let mut rig = Self::new(setup, None, watch);
        rig.begin(setup);
        for step in steps {
            rig.step(setup, &step);
            if rig.drained {
                break;
            }
        }
        rig.end();
    }

    /// A connection after `Start`.
    #[must_use]
    pub fn begun(setup: &Setup, strict: Option<bool>) -> Self {
        let mut rig = Self::new(setup, strict, super::honest);
        rig.begin(setup);
        rig
    }

    /// The connection is closed, all work is flushed, all fragments come back: then it must be drained, and quiet.
    pub fn end(&mut self) {
        if !self.is_over() {
            self.close(None);
        }
        self.drain();
        let recvs = std::mem::take(&mut self.recvs).into_iter().map(|(id, _)| WrId::from(id));
        let sends = std::mem::take(&mut self.sends).into_iter().map(WrId::from);
        let rdma = std::mem::take(&mut self.rdma).into_iter().map(WrId::from);
        let registering = std::mem::take(&mut self.registering).into_iter().map(|work| WrId::from(work.id));
        let binding = std::mem::take(&mut self.binding).into_iter().map(WrId::from);
        let deregistering = std::mem::take(&mut self.deregistering).into_iter().map(WrId::from);
        let all: Vec<_> =
            recvs.chain(sends).chain(rdma).chain(registering).chain(binding).chain(deregistering).collect();
        for id in all {
            self.tell(Input::Failed { id, error: WorkError::Flushed });
        }
        self.drain();
        if (self.link.started || self.link.disconnect) && !self.link.over {
            self.disconnected(DisconnectReason::Local);
        }
        self.drain();
        self.release_all();
        self.drain();
        assert!(
            self.drained,
            "not drained: {:?}, {:?}",
            self.connection.phase(),
            self.connection.outstanding()
        );
        assert_eq!(self.connection.phase(), PhaseName::Drained);
        assert_eq!(self.connection.outstanding(), smbd_core::Outstanding::default());
        assert!(!self.poll(), "there is something to do after the end");
        assert_eq!(self.deadline, None);
    }
}
