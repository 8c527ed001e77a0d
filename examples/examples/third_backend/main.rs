//! A backend of one's own, on a pair of Unix sockets, driven by the core's loop: `socket.rs` is the backend, this is a
//! program that uses it. The backend passes the lines of the backend kit that a transport without RDMA can
//! (`tests/third_backend.rs`).
//!
//!     cargo run --locked -p smbd-examples --example third_backend

#[cfg(unix)]
pub(crate) mod socket;

#[cfg(unix)]
mod program {
    use std::error::Error;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use bytes::Bytes;
    use smbd_core::backend::{Backend as _, BufferLookup, Handler, drive};
    use smbd_core::endpoint::{EndpointEvent, Message};
    use smbd_core::error::{CloseReason, ConnectError};
    use smbd_core::{Close, Config, Endpoint, Instant, Params, Role};

    use super::socket::{Buffer, SocketBackend};

    type Failure = Box<dyn Error + Send + Sync>;

    /// The initiator asks, the acceptor answers with the question backwards, the initiator closes.
    #[derive(Default)]
    struct Mirror {
        answer: Option<Bytes>,
        end: Option<Result<CloseReason, ConnectError>>,
        drained: bool,
        trouble: Option<Failure>,
    }

    /// An endpoint knows its messages itself, and there is no other memory here.
    impl BufferLookup<Buffer> for Mirror {}

    impl Handler<SocketBackend, Endpoint> for Mirror {
        fn event(&mut self, endpoint: &mut Endpoint, backend: &mut SocketBackend, event: EndpointEvent) {
            if let Err(error) = self.react(endpoint, backend, event) {
                self.trouble = Some(error);
                endpoint.close(backend.now(), Close::Abort);
            }
        }
    }

    impl Mirror {
        fn react(
            &mut self,
            endpoint: &mut Endpoint,
            backend: &mut SocketBackend,
            event: EndpointEvent,
        ) -> Result<(), Failure> {
            let (now, role) = (backend.now(), endpoint.connection().role());
            match event {
                EndpointEvent::Established(_) if role == Role::Initiator => {
                    endpoint.send(now, question(), None)?;
                }
                EndpointEvent::Message(message) => {
                    let bytes = message.bytes(backend)?.to_vec();
                    if let Message::Borrowed(fragment) = message {
                        endpoint.release(now, fragment)?;
                    }
                    println!("{role:?}: a message of {} bytes", bytes.len());
                    if role == Role::Acceptor {
                        endpoint.send(now, backwards(&bytes), None)?;
                    } else {
                        self.answer = Some(bytes.into());
                        endpoint.close(now, Close::Abort);
                    }
                }
                EndpointEvent::Closed(reason) => self.end = Some(Ok(reason)),
                EndpointEvent::ConnectFailed(error) => self.end = Some(Err(error)),
                EndpointEvent::Drained => self.drained = true,
                EndpointEvent::Established(_)
                | EndpointEvent::Invalidated { .. }
                | EndpointEvent::Sent { .. }
                | EndpointEvent::RdmaDone { .. }
                | EndpointEvent::Registered { .. }
                | EndpointEvent::Deregistered { .. }
                | EndpointEvent::Probed(_)
                | EndpointEvent::Writable => {}
            }
            Ok(())
        }
    }

    fn question() -> Bytes {
        (0..100_000_u32).map(|n| (n % 251) as u8).collect()
    }

    fn backwards(bytes: &[u8]) -> Bytes {
        bytes.iter().rev().copied().collect()
    }

    fn run(role: Role, stream: UnixStream) -> Result<Option<Bytes>, Failure> {
        let config = Config::try_from(Params { max_read_write_size: 0, ..Params::windows() })?;
        #[expect(clippy::disallowed_methods, reason = "the backend's clock")]
        let started = std::time::Instant::now();
        let clock = move || Instant::ORIGIN.saturating_add(started.elapsed());
        let mut backend = SocketBackend::new(stream, &config.budget(), clock)?;
        let mut endpoint = Endpoint::new(role, &config, backend.now());
        let mut upper = Mirror::default();
        loop {
            let deadline = drive(&mut endpoint, &mut backend, &mut upper)?;
            if upper.drained {
                break;
            }
            backend.wait(deadline)?;
        }
        if let Some(trouble) = upper.trouble {
            return Err(trouble);
        }
        println!("{role:?}: {}", upper.end.ok_or("no end was told")??);
        Ok(upper.answer)
    }

    pub(crate) fn main() -> Result<(), Failure> {
        let (ours, theirs) = UnixStream::pair()?;
        let acceptor = thread::spawn(|| run(Role::Acceptor, theirs).map(drop));
        let answer = run(Role::Initiator, ours)?;
        acceptor.join().map_err(|_| "the acceptor panicked")??;
        if answer != Some(backwards(&question())) {
            return Err("the question did not come back backwards".into());
        }
        Ok(())
    }
}

#[cfg(unix)]
pub(crate) use program::main;

#[cfg(not(unix))]
fn main() {
    eprintln!("this example needs Unix sockets");
    std::process::exit(1);
}
