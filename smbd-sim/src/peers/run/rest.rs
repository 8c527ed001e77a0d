//! After the last message: no message, one keepalive probe, no message.

use std::time::Duration;

use smbd_core::Instant;

use super::Run;
use crate::peers::upper::ScriptedUpper;

/// In which a host notices and acknowledges all that is under way.
const SETTLE: Duration = Duration::from_millis(100);
/// The longest silence that is waited for.
const SILENCE: Duration = Duration::from_secs(300);

impl Run<'_> {
    /// Law 8 with a foreign peer: nothing flies until the keepalive, nor behind it.
    pub(super) fn rest(&mut self) -> Result<(), String> {
        let ours = self.ours();
        self.world.command(ours, |upper: &mut ScriptedUpper, context| {
            upper.give_back(Instant::from_nanos(u64::MAX), context);
        });
        self.settle()?;
        self.is_silent("before the keepalive")?;
        if self.is_excused() {
            // What has no credits left cannot answer.
            return Ok(());
        }
        let Some(keepalive) =
            self.first_keepalive().filter(|at| *at <= self.world.now().saturating_add(SILENCE))
        else {
            return Ok(());
        };
        self.steps_until(keepalive, Self::is_over)?;
        self.settle()?;
        self.is_silent("behind the keepalive")
    }

    fn settle(&mut self) -> Result<(), String> {
        let late = self.plan.late.iter().sum::<Duration>();
        let time = SETTLE + (self.plan.times.latency.most + late) * 20;
        let until = self.world.now().saturating_add(time);
        self.steps_until(until, Self::is_over)?;
        self.world.run_until(until, |_| true);
        self.is_alive()
    }

    fn is_alive(&self) -> Result<(), String> {
        match self.upper().ended {
            None => Ok(()),
            Some(end) => Err(format!("an idle connection ended: {end:?}")),
        }
    }

    /// When one of the two asks for a keepalive response, or gives one.
    fn first_keepalive(&self) -> Option<Instant> {
        let ours = self.world.host(self.ours()).deadline();
        [ours, self.model.idle_deadline()].into_iter().flatten().min()
    }

    fn is_silent(&mut self, when: &str) -> Result<(), String> {
        let now = self.world.now();
        let longest = now.saturating_add(SILENCE);
        let keepalive = self.first_keepalive().unwrap_or(longest).min(longest);
        let until = Instant::from_nanos(keepalive.as_nanos().saturating_sub(1)).max(now);
        let before = self.sent();
        self.steps_until(until, Self::is_over)?;
        let after = self.sent();
        if before != after {
            let [ours, theirs] = [after[0] - before[0], after[1] - before[1]];
            return Err(format!(
                "not quiet {when}: {ours} messages of the connection, {theirs} of the model"
            ));
        }
        self.is_alive()
    }

    /// Messages, ours first.
    fn sent(&self) -> [u64; 2] {
        [self.world.probe().counter.sent[self.ours().index()], self.model.sent()]
    }
}
