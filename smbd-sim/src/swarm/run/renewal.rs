//! Replaces a connection that is over by a new one.

use smbd_core::{Close, Input};

use super::{DOOM, Run};
use crate::Side;
use crate::fault::Disruption;
use crate::oracle::Law;
use crate::probe::Probe;

impl<F: Probe> Run<'_, F> {
    /// A connection that cannot live on comes to its end.
    pub(super) fn doom(&mut self) -> bool {
        self.world.faults_mut().heal();
        let until = self.world.now().saturating_add(DOOM);
        let over = self.steps_until(until, |run| run.world.is_drained());
        if !over && !self.failed() {
            // Silence without a keepalive: the upper layers lose patience.
            for side in Side::BOTH {
                self.world.command(side, |_, context| context.close(Close::Abort));
            }
            self.world.disrupt(Disruption::CutSilently);
        }
        let until = self.world.now().saturating_add(DOOM);
        let drained = self.steps_until(until, |run| run.world.is_drained());
        self.check(Law::Liveness, drained, Side::Initiator, || "a dead connection never drained".to_owned());
        drained && !self.failed()
    }

    /// A new connection on the same hosts, after the last one has drained.
    pub(super) fn renew(&mut self) -> bool {
        if self.failed() {
            return false;
        }
        self.clear_up();
        self.nonsense = [false; 2];
        self.world.probe_mut().oracles.renew();
        self.connections += 1;
        self.world.reconnect();
        self.look();
        !self.failed()
    }

    /// After both sides have drained: everything of the connection comes back to where it belongs.
    pub(super) fn clear_up(&mut self) {
        self.after_drained();
        let lost = self.workload.borrow_mut().lost();
        for (side, lost) in Side::BOTH.into_iter().zip(lost) {
            let host = self.world.host_mut(side);
            host.upper.renew(lost, &mut host.device.nic.buffers);
        }
        self.check_leaks();
    }

    /// Nothing comes out of a drained connection any more, whatever it is told.
    fn after_drained(&mut self) {
        for side in Side::BOTH {
            self.world.forge(side, Input::Timeout);
            self.world.command(side, |_, _| ());
            self.forge(side);
        }
    }

    fn check_leaks(&mut self) {
        for side in Side::BOTH {
            let nic = &self.world.host(side).device.nic;
            let (buffers, tokens) = (nic.buffers.live(), nic.tokens.live(nic.domain()).count());
            let idle = nic.is_drained();
            self.check(Law::Leaks, buffers == 0 && tokens == 0 && idle, side, || {
                format!("{buffers} buffers, {tokens} tokens left, device idle: {idle}")
            });
        }
    }
}
