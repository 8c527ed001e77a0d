//! Fixed-size storage: all memory of a connection is allocated when it is created.

mod ring;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use ring::Ring;
pub(crate) use slots::Slots;
