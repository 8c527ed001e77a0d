//! smbd-verbs as it ships, over libibverbs and librdmacm that play a script.
//!
//! `calls` defines the functions of both libraries, so this program is linked with them and not with the libraries. `world` is what
//! they know: it records the requests of smbd-verbs, and gives the events and completions of the script. It also notes each call that
//! the libraries forbid, such as a registration that ends while the device uses its memory. Each test has a device of its own. The
//! patches in `smbd-verbs/mutants` break smbd-verbs; each names the test that has to fail.

mod calls;
mod connecting;
mod end;
mod ending;
mod events;
mod memory;
mod messages;
mod posting;
#[allow(
    dead_code,
    unreachable_pub,
    non_camel_case_types,
    non_upper_case_globals,
    missing_docs,
    missing_debug_implementations,
    reason = "names of C, of which these tests use a part"
)]
mod sys;
mod world;
