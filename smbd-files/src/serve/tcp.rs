//! Clients over TCP.

use std::task::{Context, Poll};

use smbd_smb2::server;
use tokio::io::{AsyncRead, AsyncWrite};

use super::link::{Event, Link, Order};
use crate::transport::{CLOSED, Lost, Tcp, Transport as _};

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Link for Tcp<S> {
    fn transport(&self) -> server::Transport {
        server::Transport::Tcp
    }

    fn order(&mut self, order: Order) {
        // Nothing else is ordered over TCP.
        if let Order::Send { message, .. } = order {
            let (bytes, start) = message.into_parts();
            self.send_owned(bytes, start);
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        match self.poll_ready(cx) {
            Poll::Ready(Ok(())) if wants_messages => {
                let received = self.poll_receive(cx);
                received.map_ok(|received| Event::Message(received.message)).map_err(in_words_of_a_server)
            }
            Poll::Ready(Err(lost)) => Poll::Ready(Err(lost)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_flush(cx).map(|_| ())
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        crate::transport::Transport::poll_close(self, cx)
    }
}

/// Who looks after a server knows who the other side is.
fn in_words_of_a_server(lost: Lost) -> Lost {
    if &*lost.0 == CLOSED { Lost::because("the client has left") } else { lost }
}
