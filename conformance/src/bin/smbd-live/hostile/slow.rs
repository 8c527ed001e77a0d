//! Peers that take their time.

use std::thread;
use std::time::Duration;

use super::raw::Raw;
use super::siege::Siege;
use crate::case::{Context, Outcome};

const CONNECTIONS: u32 = 100;
/// siw's server looks for a first message that it may have overlooked 50 ms after the connection is up; its client takes the
/// connection for up 5 ms after that.
const FROM: Duration = Duration::from_millis(44);
const STEP: Duration = Duration::from_micros(20);

/// Each says its first message a little later than the one before. Whatever the server does meanwhile, all are served.
pub(super) fn to_speak(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "slow")?;
    let mut raw = Raw::to(siege.echo.at)?;
    for number in 0..CONNECTIONS {
        let pause = FROM + number * STEP;
        let id = raw.connect()?;
        thread::sleep(pause);
        raw.negotiate(id).map_err(|failure| format!("after {pause:?}: {failure}"))?;
        raw.leave(id)?;
    }
    drop(raw);
    siege.end(format!(
        "{CONNECTIONS} were served, from {FROM:?} to {:?} after they came",
        FROM + CONNECTIONS * STEP
    ))
}
