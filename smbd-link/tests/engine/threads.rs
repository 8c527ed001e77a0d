//! Engines on several threads.

use smbd_core::Endpoint;
use smbd_link::Waitable;
use smbd_link::engine::{Engine, Poller};

const fn is_send<T: Send>() {}

/// If this compiles, all that an engine has may go to another thread with it: its parts are its own.
#[expect(dead_code, reason = "for the compiler alone")]
const fn an_engine_goes_to_a_thread_if_its_backends_and_upper_layers_can<U, B, P>()
where
    U: Send,
    B: Waitable<Error: Send> + Send,
    P: Poller<B> + Send,
{
    is_send::<Engine<U, Endpoint, B, P>>();
}
