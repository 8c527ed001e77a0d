//! A share of the suite's SMB2 server, mounted and used: what cifs lists, reads and writes, and how its data go.

use std::collections::{BTreeMap, BTreeSet};

use smbd_conformance::smb2::server::{Files, Options, Read};
use smbd_core::Tolerances;
use smbd_smb2::wire::{Channel, Dialect};
use smbd_tools::exercise::pattern;

use super::kernel::{Mount, Mounted, Parameter};
use super::sharing::{Limit, Seen, Shared, Sharing};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};
use crate::linux::Linux;
use crate::patience::PATIENCE;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cifs::files::folder",
        target: Target::Cifs,
        about: "a mount lists, stats, creates, renames, cuts and removes files",
        run: folder,
    },
    Case {
        name: "cifs::files::inline",
        target: Target::Cifs,
        about: "blocks below 4096 bytes go in READ and WRITE messages",
        run: inline,
    },
    Case {
        name: "cifs::files::channel",
        target: Target::Cifs,
        about: "blocks of 4096 bytes and more go by RDMA, in each dialect with the channel that it has",
        run: channel,
    },
    Case {
        name: "cifs::files::echo",
        target: Target::Cifs,
        about: "dd from file to file: the bytes of each READ come back in a WRITE",
        run: echo,
    },
    Case {
        name: "cifs::files::echo_of_short_reads",
        target: Target::CifsLong,
        about: "the same with READs that are answered with fewer bytes than they ask for, and with large ones inline",
        run: echo_of_short_reads,
    },
    Case {
        name: "cifs::files::echoes_at_once",
        target: Target::Cifs,
        about: "the same by several dd at once",
        run: echoes_at_once,
    },
];

/// What every mount of these tests wants: each read and write is one of the server.
const UNCACHED: &str = "vers=3.1.1,cache=none,actimeo=0";

/// Mounts a share, uses it, unmounts it, and returns what the server has seen.
fn with_share(
    context: &Context,
    mount: &str,
    (options, limit): (Options, Limit),
    uses: impl FnOnce(&Mounted) -> Result<(), Failure>,
) -> Result<Shared, Failure> {
    let sharing = Sharing::begin(context.address, options, limit)?;
    let used = Mount::begin_with(context.address, mount).and_then(|mount| mount.mounted(PATIENCE)).and_then(
        |mounted| {
            uses(&mounted)?;
            mounted.unmount()
        },
    );
    let shared = sharing.end();
    used?;
    let shared = shared?;
    // RA-4 comes and goes with the order in which the threads of cifs run.
    let mut others = shared.tolerances;
    others.empty_inside_sequence = 0;
    same("what had to be overlooked", others, Tolerances::default())?;
    Ok(shared)
}

fn everything(read: &Read) -> u32 {
    read.transfer.length
}

/// A share with these files.
fn share(files: &[(&str, &[u8])]) -> Result<Options, Failure> {
    let mut store = Files::new();
    for (name, contents) in files {
        store.put(name, contents)?;
    }
    Ok(Options { files: store, ..Options::default() })
}

fn folder(context: &Context) -> Outcome {
    let large = pattern(1, 100_000);
    let options = share(&[("hello", b"hello"), ("large", &large)])?;
    let shared = with_share(context, UNCACHED, (options, everything), |mounted| {
        same("ls", mounted.shell("ls -a")?, ".\n..\nhello\nlarge\n".into())?;
        same("stat", mounted.shell("stat -c '%s %F' large .")?, "100000 regular file\n0 directory\n".into())?;
        same(
            "df",
            mounted.shell("df -B 1 --output=size . | tail -n 1")?.trim().to_owned(),
            "268435456".into(),
        )?;
        same("cat", mounted.shell("cat hello")?, "hello".into())?;
        mounted.shell("printf new >new && cp large copy && cmp large copy && mv new moved && rm hello")?;
        mounted.shell("printf more >>moved && truncate -s 5 moved && touch -d @1000000000 moved")?;
        same("what was moved", mounted.shell("cat moved; stat -c %Y moved")?, "newmo1000000000\n".into())?;
        holds(mounted.shell("cat hello 2>&1 || true")?.contains("No such file"), || {
            "it is still there".into()
        })?;
        mounted.shell("for i in $(seq 200); do : >file-$i; done")?;
        same("number of files", mounted.shell("ls | wc -l")?.trim().to_owned(), "203".into())?;
        Ok(())
    })?;
    let files = shared.server.files();
    same("files of the server", files.names().count(), 203)?;
    same("copy", files.written("copy"), Some(&large[..]))?;
    same("moved", files.written("moved"), Some(&b"newmo"[..]))?;
    same("opens that are left", shared.server.opens(), 0)?;
    same("sessions that are left", shared.server.sessions(), 0)?;
    Ok(format!("{} READs and WRITEs; {}", shared.seen.len(), shared.end))
}

/// How many of each kind there were: `READ 512 over none: 3`.
fn counts(seen: &[Seen]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in seen {
        let verb = if one.is_write { "WRITE" } else { "READ" };
        *counts.entry(format!("{verb} over {}", one.channel)).or_default() += 1;
    }
    counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

fn copy_in_blocks(mounted: &Mounted, sizes: &[u32]) -> Result<(), Failure> {
    for size in sizes {
        mounted.shell(&format!("dd if=in of=out-{size} bs={size} iflag=direct oflag=direct status=none"))?;
    }
    Ok(())
}

fn inline(context: &Context) -> Outcome {
    let contents = pattern(2, 10_000);
    let sizes = [100, 512, 2000, 4095];
    let uses = |mounted: &Mounted| copy_in_blocks(mounted, &sizes);
    let shared = with_share(context, UNCACHED, (share(&[("in", &contents)])?, everything), uses)?;
    for size in sizes {
        same("copy", shared.server.files().written(&format!("out-{size}")), Some(&contents[..]))?;
    }
    let others = shared.seen.iter().filter(|seen| seen.channel != Channel::NONE).count();
    same("transfers over a channel", others, 0)?;
    Ok(counts(&shared.seen))
}

fn channel(context: &Context) -> Outcome {
    let contents = pattern(3, 1 << 20);
    let sizes = [4096, 65_536, 1 << 20];
    let dialects = [
        ("3.0", Dialect::SMB_3_0, Channel::RDMA_V1),
        ("3.02", Dialect::SMB_3_0_2, Channel::RDMA_V1_INVALIDATE),
        ("3.1.1", Dialect::SMB_3_1_1, Channel::RDMA_V1_INVALIDATE),
    ];
    let mut told = Vec::new();
    for (version, dialect, channel) in dialects {
        let options = share(&[("in", &contents)])?;
        let mount = format!("vers={version},cache=none,actimeo=0");
        let uses = |mounted: &Mounted| copy_in_blocks(mounted, &sizes);
        let shared = with_share(context, &mount, (options, everything), uses)?;
        same("dialect", shared.server.dialect(), Some(dialect))?;
        for size in sizes {
            same("copy", shared.server.files().written(&format!("out-{size}")), Some(&contents[..]))?;
        }
        let others = shared.seen.iter().filter(|seen| seen.channel != channel).count();
        same("transfers over other channels", others, 0)?;
        told.push(format!("{version}: {}", counts(&shared.seen)));
    }
    Ok(told.join("; "))
}

/// How many READs of these files were not answered by a WRITE of the same bytes to the same place, and how many were.
fn echoed(seen: &[Seen], from: &str, to: &str) -> (usize, usize) {
    echoed_with(seen, (from, to), |read, written| read == written)
}

/// Whether there are zeros behind what was read.
fn padded(read: &[u8], written: &[u8]) -> bool {
    written.strip_prefix(read).is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
}

/// The same where a WRITE is an echo of what was read if `is_copy` says so.
fn echoed_with(
    seen: &[Seen],
    (from, to): (&str, &str),
    is_copy: impl Fn(&[u8], &[u8]) -> bool,
) -> (usize, usize) {
    let reads: Vec<_> = seen.iter().filter(|one| !one.is_write && one.name == from).collect();
    let writes: Vec<_> = seen.iter().filter(|one| one.is_write && one.name == to).collect();
    let is_echo =
        |(read, write): &(&&Seen, &&Seen)| read.offset == write.offset && is_copy(&read.data, &write.data);
    let good = reads.iter().zip(&writes).filter(is_echo).count();
    (reads.len().max(writes.len()) - good, good)
}

fn echo(context: &Context) -> Outcome {
    let contents = pattern(4, 200_000);
    let uses = |mounted: &Mounted| {
        mounted.shell("dd if=in of=out bs=2000 iflag=direct oflag=direct status=none").map(drop)
    };
    let shared = with_share(context, UNCACHED, (share(&[("in", &contents)])?, everything), uses)?;
    same("READs without an echo, and with one", echoed(&shared.seen, "in", "out"), (0, 100))?;
    Ok(counts(&shared.seen))
}

/// The least size of a block that dd is told to read below: a READ for fewer bytes asks for the rest of a block.
const BLOCK: u32 = 2000;
const LARGE_BLOCK: u32 = 65_536;

/// From 1 byte to all of a block, one length after the other, and nothing more.
fn shorter(read: &Read) -> u32 {
    let length = read.transfer.length;
    if [BLOCK, LARGE_BLOCK].contains(&length) {
        1 + (read.transfer.offset % u64::from(length)) as u32
    } else {
        0
    }
}

/// As much of a block, and then as much of the rest.
fn in_pieces(read: &Read) -> u32 {
    1 + (read.transfer.offset % u64::from(read.transfer.length.max(1))) as u32
}

/// A short answer to a READ in the middle of a file is not the end of it for cifs: it asks for the rest, with a READ of the
/// same open that begins behind what came. STATUS_END_OF_FILE to that is, and what came first goes to dd and comes back; with 7.3 there are
/// zeros behind it.
fn echo_of_short_reads(context: &Context) -> Outcome {
    let pads = Linux::running()?.cifs().pads_short_reads;
    let contents = pattern(5, 200_000);
    let mut told = Vec::new();
    for size in [BLOCK, LARGE_BLOCK] {
        // Read when the connection begins.
        let _inline = Parameter::set("rdma_readwrite_threshold", LARGE_BLOCK + 1)?;
        let uses = |mounted: &Mounted| {
            mounted
                .shell(&format!("dd if=in of=out bs={size} iflag=direct oflag=direct status=none"))
                .map(drop)
        };
        let shared = with_share(context, UNCACHED, (share(&[("in", &contents)])?, shorter), uses)?;
        let is_copy =
            |read: &[u8], written: &[u8]| if pads { padded(read, written) } else { read == written };
        let (other, good) = echoed_with(&shared.seen, ("in", "out"), is_copy);
        same("READs without an echo", other, 0)?;
        let is_whole = shared.server.files().written("out") == Some(&contents[..]);
        same("whether the copy is whole", is_whole, !pads)?;
        same(
            "transfers over a channel",
            shared.seen.iter().filter(|one| one.channel != Channel::NONE).count(),
            0,
        )?;
        let lengths: BTreeSet<_> = shared.seen.iter().map(|one| one.data.len()).collect();
        let (least, most) = (lengths.first().copied(), lengths.last().copied());
        told.push(format!(
            "{good} of {size} bytes answered with {} lengths from {} to {}",
            lengths.len(),
            least.unwrap_or_default(),
            most.unwrap_or_default()
        ));
        let shared = with_share(context, UNCACHED, (share(&[("in", &contents)])?, in_pieces), uses)?;
        same("copy of pieces", shared.server.files().written("out"), Some(&contents[..]))?;
        let whole = |one: &&Seen| one.is_write && one.data.len() == size as usize;
        told.push(format!(
            "in pieces {}, {} of them whole",
            counts(&shared.seen),
            shared.seen.iter().filter(whole).count()
        ));
    }
    Ok(told.join("; "))
}

/// Deviation from 3.1.5.8 (RA-4): with several requests under way, cifs now and then grants credits with an empty message between
/// two fragments of another. The endpoint overlooks it unless it is strict.
fn echoes_at_once(context: &Context) -> Outcome {
    let inputs: Vec<_> = (0..4).map(|number| (format!("in-{number}"), pattern(number, 100_000))).collect();
    let files: Vec<(&str, &[u8])> = inputs.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    let uses = |mounted: &Mounted| {
        let dd = "dd if=in-$i of=out-$i bs=2000 iflag=direct oflag=direct status=none";
        mounted.shell(&format!("for i in 0 1 2 3; do {dd} & done; wait")).map(drop)
    };
    let shared = with_share(context, UNCACHED, (share(&files)?, everything), uses)?;
    for number in 0..4 {
        let (from, to) = (format!("in-{number}"), format!("out-{number}"));
        same("READs without an echo, and with one", echoed(&shared.seen, &from, &to), (0, 50))?;
    }
    // While one waits for an answer, another asks.
    let number = |one: &Seen| one.name.split('-').next_back().map(str::to_owned);
    let mixed =
        shared.seen.windows(2).filter(|pair| pair.iter().map(number).collect::<BTreeSet<_>>().len() == 2);
    Ok(format!(
        "{}, {} of them behind those of another, {} empty messages between fragments",
        counts(&shared.seen),
        mixed.count(),
        shared.tolerances.empty_inside_sequence
    ))
}
