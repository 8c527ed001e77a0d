//! What several packages of the repository need and no published one has. The tests of the repository as a whole are in `tests`.

pub mod instructions;
