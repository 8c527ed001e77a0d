//! What the programs of smbd that serve have in common.
//!
//! `smbd-gateway`, `smbd-broker` and `smbd-serve` listen at RDMA devices or over TCP, and are looked after by the same people: their logs,
//! settings, metrics and units look alike because they come from here. What a client gets is theirs.
//!
//! What they have in common with programs that do not serve is in `smbd-program`.
//!
//! Without the feature `verbs` there is nothing that asks RDMA devices, and none is needed to build.
//!
//! | module | what it is |
//! |---|---|
//! | [`places`], [`listeners`] | where it is listened, over TCP and at devices that come and go, and what that leads to |
//! | [`tasks`], [`live`] | what all tasks share: settings, admission, the end; the connections that there are |
//! | [`network`], [`admission`], [`refusals`] | who is let in, and what is said of who is not |
//! | [`options`], [`file`](mod@file), [`reload`](mod@reload) | options of the command line; a file of settings, read with the line of what is wrong, and read again |
//! | [`log`](mod@log), [`prometheus`], [`metrics`] | what is told to files and to programs that collect it |
//! | [`status`], [`table`] | a Unix socket that says what goes on, and how that is shown |
//! | [`socket_path`] | the path of a Unix socket, with its mode and without what is left of others |
//! | [`notify`], [`signals`], [`drain`] | the service manager, and the end |
//! | [`limits`], [`trouble`], [`outcome`] | what the system has to allow, what to check when it does not, and how a program ends |
//! | [`host`], [`finding`] | what a `doctor` looks at, and how it tells what it found |

pub mod admission;
pub mod drain;
pub mod file;
pub mod finding;
#[cfg(test)]
mod folder;
#[cfg(feature = "verbs")]
pub mod host;
pub mod limits;
pub mod listeners;
pub mod live;
pub mod log;
pub mod metrics;
pub mod network;
pub mod notify;
pub mod options;
pub mod outcome;
pub mod places;
pub mod prometheus;
pub mod refusals;
pub mod reload;
pub mod signals;
pub mod socket_path;
pub mod status;
pub mod table;
pub mod tasks;
pub mod trouble;

mod suggestion;
