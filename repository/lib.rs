//! The tests of the repository as a whole are in `tests`.
