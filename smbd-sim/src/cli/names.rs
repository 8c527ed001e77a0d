//! Values by the names that they have on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{FaultLevel, Loop, Profile};

/// Whose parameters.
pub const PROFILES: &[(&str, Profile)] = &[
    ("random", Profile::Random),
    ("windows", Profile::Windows),
    ("linux-client", Profile::LinuxClient),
    ("linux-server", Profile::LinuxServer),
    ("example", Profile::Example),
];
/// Kinds of network.
pub const PERSONALITIES: &[(&str, Personality)] =
    &[("roce", Personality::Roce), ("iwarp", Personality::Iwarp)];
/// How much goes wrong.
pub const FAULTS: &[(&str, FaultLevel)] =
    &[("none", FaultLevel::None), ("light", FaultLevel::Light), ("heavy", FaultLevel::Heavy)];

/// One of the two loops that drive a connection; `None` is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver(pub Option<Loop>);
/// Which loop.
pub const DRIVERS: &[(&str, Driver)] = &[
    ("any", Driver(None)),
    ("blocking", Driver(Some(Loop::Blocking))),
    ("engine", Driver(Some(Loop::Engine))),
    ("tokio", Driver(Some(Loop::Tokio))),
];

/// Takes one of these names.
pub fn one_of<T>(values: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.try_map(|given| {
        let named = values.iter().find(|(name, _)| *name == given);
        named.map(|(_, value)| *value).ok_or("no such name")
    })
}

/// The name of a value, which has one.
pub fn name_of<T: Copy + PartialEq>(values: &[(&'static str, T)], of: T) -> &'static str {
    values.iter().find(|(_, value)| *value == of).map_or("", |(name, _)| name)
}
