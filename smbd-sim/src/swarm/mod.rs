//! Swarm runs: one seed decides configurations, devices, network, workload and faults.

mod fault;
mod kind;
mod many;
mod pair;
mod plan;
mod report;
mod run;
mod seam;
mod summary;

use crate::nic::Personality;

pub use fault::{Arranged, Schedule};
pub use kind::FaultKind;
pub use many::{over_seeds, run_seed, run_seeds};
pub use pair::{Loop, Pair};
pub use plan::Plan;
pub use report::Report;
pub use run::soak;
pub use run::{run, run_showing};
pub use seam::Seam;
pub use summary::{LEAST, Summary};

/// Whose parameters both sides have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Drawn by the seed: mostly at random, now and then one of the others.
    #[default]
    Random,
    /// Windows.
    Windows,
    /// The Linux client.
    LinuxClient,
    /// The Linux server.
    LinuxServer,
    /// The specification's example.
    Example,
}

/// How much goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultLevel {
    /// Nothing.
    #[default]
    None,
    /// One thing.
    Light,
    /// Up to four things in each of up to three connections.
    Heavy,
}

/// What is not left to the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Parameters.
    pub profile: Profile,
    /// Kind of network.
    pub personality: Option<Personality>,
    /// Faults.
    pub faults: FaultLevel,
}
