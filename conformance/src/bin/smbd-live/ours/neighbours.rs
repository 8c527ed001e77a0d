//! A busy connection and a quiet one on the same thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::Config;
use smbd_core::backend::Backend;
use smbd_verbs::ListenOptions;

use super::client::Client;
use super::ports;
use super::serving::Serving;
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;
use crate::settings;

/// Messages of the busy one that are always under way: its server never runs out of them.
const WINDOW: u32 = 16;
/// Messages of the quiet one.
const MESSAGES: u32 = 20;
/// Between them: long enough for the server to turn to others.
const PAUSE: Duration = Duration::from_millis(20);

/// The quiet one connects while the other is busy, and is served.
pub(super) fn busy(context: &Context) -> Outcome {
    let config = Config::try_from(settings::windows())?;
    let serving = Serving::start(ports::fresh(context), &config, ListenOptions::default())?;
    let hog = Client::connect(serving.at, &config)?;
    let (stop, returned) = (AtomicBool::new(false), AtomicU64::new(0));
    let times = thread::scope(|scope| {
        let busy = scope.spawn(|| never_pause(hog, &stop, &returned));
        let served = serve_quietly(&serving, &config, &returned);
        stop.store(true, Ordering::Relaxed);
        busy.join().map_err(|_| "the busy connection panicked")??;
        served
    })?;
    for _ in 0..2 {
        serving.ended(PATIENCE)?;
    }
    serving.stop()?;
    let returned = returned.into_inner();
    Ok(format!("{MESSAGES} messages took up to {} ms beside {returned} of another", times.as_millis()))
}

/// The longest time a message took.
fn serve_quietly(serving: &Serving, config: &Config, returned: &AtomicU64) -> Result<Duration, Failure> {
    let mut client: Client = Client::connect(serving.at, config)?;
    let connection = &mut client.connection;
    let mut longest = Duration::ZERO;
    for number in 0..MESSAGES {
        // On a busy host the other one may need more than a pause to be seen busy.
        let (before, asked) = (returned.load(Ordering::Relaxed), connection.backend().now());
        connection.idle(PAUSE)?;
        while returned.load(Ordering::Relaxed) == before {
            if connection.backend().now().saturating_since(asked) > PATIENCE {
                return Err("the other connection was not busy".into());
            }
            connection.idle(PAUSE)?;
        }
        let start = connection.backend().now();
        connection.send(Bytes::from_static(b"quiet"))?;
        // Waiting for the busy one to pause takes for ever.
        connection.recv(PATIENCE).map_err(|failure| format!("message {number}: {failure}"))?;
        longest = longest.max(connection.backend().now().saturating_since(start));
    }
    client.close()?;
    Ok(longest)
}

fn never_pause(mut client: Client, stop: &AtomicBool, returned: &AtomicU64) -> Result<(), String> {
    let mut talk = || -> Result<(), Failure> {
        let connection = &mut client.connection;
        for _ in 0..WINDOW {
            connection.send(Bytes::from_static(b"busy"))?;
        }
        while !stop.load(Ordering::Relaxed) {
            connection.recv(PATIENCE)?;
            returned.fetch_add(1, Ordering::Relaxed);
            connection.send(Bytes::from_static(b"busy"))?;
        }
        Ok(())
    };
    talk().and_then(|()| client.close().map(|_| ())).map_err(|failure| failure.to_string())
}
