//! The client against a small server.

mod binding;
mod checks;
mod covered;
mod events;
mod flows;
mod hostile;
mod known;
mod orders;
mod replays;
mod transforms;

use smbd_testkit::client::{bindable, server, tape, world};
