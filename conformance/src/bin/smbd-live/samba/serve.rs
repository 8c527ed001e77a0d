//! A folder that `smbd-serve` shares, used by the kernel's client over SMB Direct: the tests of Samba that are about files.

use super::{folders, random, sizes};
use crate::case::{Case, Context, Outcome, ServedBy, Target};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::Serve, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("serve::sizes_of_3_0", "files of 0 bytes to 16 MiB at all boundaries with dialect 3.0", |context| {
        sizes::of_3_0(&serving(context))
    }),
    case("serve::sizes_of_3_0_2", "the same with dialect 3.0.2", |context| {
        sizes::of_3_0_2(&serving(context))
    }),
    case("serve::sizes_of_3_1_1", "the same with dialect 3.1.1", |context| {
        sizes::of_3_1_1(&serving(context))
    }),
    case(
        "serve::ends_of_files",
        "reads at the end of a file, beyond it, and where it has just been cut",
        |context| sizes::ends_of_files(&serving(context)),
    ),
    case("serve::small_files", "1000 files of 0 to 10,000 bytes: written, read, removed", |context| {
        folders::small_files(&serving(context))
    }),
    case(
        "serve::names",
        "files and folders are renamed, also over others, and seen so on both sides",
        |context| folders::names(&serving(context)),
    ),
    case("serve::large_folder", "a folder of 5000 entries is listed, each once", |context| {
        folders::large_folder(&serving(context))
    }),
    case("serve::locks", "a lock of one mount is held against another one", |context| {
        folders::locks(&serving(context))
    }),
    case("serve::mapped", "files are read and written through memory", |context| {
        folders::mapped(&serving(context))
    }),
    case(
        "serve::random_uncached",
        "a minute of reads, writes and cuts, each of them one of the server",
        |context| random::uncached(&serving(context)),
    ),
    case("serve::random_cached", "the same with the cache of the client, and through memory", |context| {
        random::cached(&serving(context))
    }),
];

/// The same place, with `smbd-serve` in the place of Samba and the gateway.
const fn serving(context: &Context) -> Context {
    Context { served_by: ServedBy::Serve, ..*context }
}
