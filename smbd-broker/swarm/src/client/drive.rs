//! How a client goes on.

use std::future::poll_fn;
use std::task::{Context, Poll};

use smbd_core::backend::drive;
use smbd_link::Messages;
use smbd_link::handles::PollReady;
use smbd_sim::loops::{Block, LoopEnd};

use super::Client;

/// Drives the connection of a client until it is drained. Whether all was done that it wanted.
pub async fn drive_to_end<C: Messages>(mut client: Client, mut machine: C, mut end: LoopEnd<Block>) -> bool {
    poll_fn(|cx| poll(&mut client, &mut machine, &mut end, cx)).await;
    client.step(|| "over".into());
    client.is_done
}

fn poll<C: Messages>(
    client: &mut Client,
    machine: &mut C,
    end: &mut LoopEnd<Block>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let now = client.stage.now();
        let wake = client.act(machine, now);
        let deadline = match drive(machine, end, client) {
            Ok(deadline) => deadline,
            Err(error) => {
                client.judge(Err(format!("driven: {error}")));
                return Poll::Ready(());
            }
        };
        if machine.endpoint().is_drained() {
            return Poll::Ready(());
        }
        if std::mem::take(&mut client.has_news) {
            continue;
        }
        match end.poll_ready(cx, deadline.into_iter().chain(wake).min()) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Pending => return Poll::Pending,
        }
    }
}
