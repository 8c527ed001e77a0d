//! Data that Windows compressed: Samba's test vectors, which are no part of this repository.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use smbd_smb2::compress::{huffman, lz77};

/// Folder with `decompressed`, `compressed-plain`, `compressed-more-plain`, `compressed-huffman` and `compressed-more-huffman`.
const VARIABLE: &str = "SMBD_XCA_VECTORS";
/// Name of a file, number of its plain bytes, and their hash.
const TABLE: &str = include_str!("vectors.txt");

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn decode(name: &str, compressed: &[u8], size: usize) -> Vec<u8> {
    let mut plain = vec![0; size];
    let decoded = if name.ends_with(".lzhuff") {
        huffman::Decoder::default().decode(compressed, &mut plain)
    } else {
        lz77::decode(compressed, &mut plain)
    };
    decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
    plain
}

#[test]
fn all_that_windows_compressed_is_decompressed_to_the_same() {
    let Some(folder) = env::var_os(VARIABLE) else {
        let why = "no SMBD_XCA_VECTORS: a folder with Samba's testdata/compression";
        return smbd_repository::skipped(
            "compress::all_that_windows_compressed_is_decompressed_to_the_same",
            why,
        );
    };
    let folder = Path::new(&folder);
    let rows = TABLE.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let known: BTreeMap<_, _> =
        rows.map(|row| (row[0].to_owned(), (row[1].parse().unwrap(), row[2].to_owned()))).collect();
    let (mut passed, mut stored) = (0, 0);
    for kind in ["compressed-plain", "compressed-more-plain", "compressed-huffman", "compressed-more-huffman"]
    {
        for entry in fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let (size, expected) = &known[name.rsplit_once('.').unwrap().0];
            let compressed = fs::read(&path).unwrap();
            // The Compression API of Windows stores what does not shrink, and says so beside the data: not this format.
            if compressed.len() == *size {
                stored += 1;
                continue;
            }
            let plain = decode(&name, &compressed, *size);
            assert_eq!(&format!("{:016x}", hash(&plain)), expected, "{kind}/{name}");
            passed += 1;
        }
    }
    assert_eq!((passed, stored), (180, 19), "decompressed, and stored as they are");
}

#[test]
fn what_is_compressed_here_is_no_longer_than_what_windows_made_of_it() {
    let Some(folder) = env::var_os(VARIABLE) else {
        let why = "no SMBD_XCA_VECTORS: a folder with Samba's testdata/compression";
        return smbd_repository::skipped(
            "compress::what_is_compressed_here_is_no_longer_than_what_windows_made_of_it",
            why,
        );
    };
    let folder = Path::new(&folder);
    let (mut own, mut windows) = ([0_usize; 2], [0_usize; 2]);
    let (mut plain_encoder, mut huffman_encoder) = (lz77::Encoder::default(), huffman::Encoder::default());
    for (at, kind, suffix) in [(0, "compressed-plain", "lzplain"), (1, "compressed-huffman", "lzhuff")] {
        for entry in fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_name().unwrap().to_str().unwrap().trim_end_matches(suffix).to_owned();
            let plain = fs::read(folder.join("decompressed").join(format!("{stem}decomp"))).unwrap();
            let mut out = vec![0; 2 * plain.len() + 1024];
            let encoded = if at == 0 {
                plain_encoder.encode(&plain, &mut out)
            } else {
                huffman_encoder.encode(&plain, &mut out)
            };
            // What does not shrink is sent as it is.
            own[at] += encoded.unwrap().min(plain.len());
            windows[at] += fs::metadata(&path).unwrap().len() as usize;
            let encoded = &out[..encoded.unwrap()];
            assert!(decode(&format!("{stem}{suffix}"), encoded, plain.len()) == plain, "{stem}{suffix}");
        }
    }
    for (own, windows) in own.into_iter().zip(windows) {
        assert!(own * 100 <= windows * 103, "{own} bytes here, {windows} by Windows");
    }
}
