//! Both ends of a connection over the devices.

use smbd_link::Messages;
use smbd_link::link::{Link, Owned, Rest};
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::client::RegistrationId;
use smbd_smb2::server::OperationId;

use crate::memory::OfServer;
use crate::scene::{Scene, scene};

/// The client's end of a connection over the devices.
pub async fn asks<M: Placed + Send + Sync + 'static>(
    stage: &Stage,
    scene: &Scene,
) -> Option<Owned<LoopEnd<M>, RegistrationId, impl Messages + use<M>>> {
    let nics = &scene.shared.plan.sim.nics;
    let invalidates = nics[0].windows && nics[1].send_with_invalidate;
    let link = end(stage, scene, Side::Initiator).await;
    link.map(|link| link.with_remote_invalidation(invalidates))
}

/// The server's end of a connection over the devices.
pub async fn answers(
    stage: &Stage,
    scene: &Scene,
) -> Option<Owned<LoopEnd<OfServer>, OperationId, impl Messages + use<>>> {
    end(stage, scene, Side::Acceptor).await
}

/// An end of a connection over the devices, which the task of its side drives.
async fn end<M: Placed + Send + Sync + 'static, N: Copy + PartialEq + 'static>(
    stage: &Stage,
    scene: &Scene,
    side: Side,
) -> Option<Owned<LoopEnd<M>, N, impl Messages + use<M, N>>> {
    let waiting = scene.shared.plan.waiting[if side == Side::Initiator { 0 } else { 1 }];
    match Link::new(stage.machine(side), stage.end(side), waiting).established(leave).await {
        Ok((link, _)) => Some(link),
        Err(failure) => {
            refused(scene, &failure);
            None
        }
    }
}

/// What is left of a connection is a task of its own.
fn leave<M: Placed + 'static, N: Copy + PartialEq + 'static>(
    rest: Rest<LoopEnd<M>, N, impl Messages + 'static>,
) {
    // That of one that is over is its device's end. Behind the end of a run nothing goes on.
    if rest.is_over() {
        return;
    }
    let Some(scene) = scene() else { return };
    scene.shared.notes.stage().spawn(async move {
        rest.await;
    });
}

fn refused(scene: &Scene, failure: &impl std::fmt::Display) {
    scene.shared.notes.step(|| format!("not established: {failure}"));
    scene.shared.notes.note(|seen| seen.is_refused = true);
}
