//! Fuzz targets: a body for each, which takes bytes and panics where something is wrong.
//!
//! | target | what is fed | what has to hold |
//! |---|---|---|
//! | `wire` | bytes | each parser gives a value or an error, and the value is written as it was read |
//! | `slice` | descriptors and an operation | requests cover exactly the range, computed a second time |
//! | `capture` | a file | decoder, its text and JSON, and the monitor come to an end, and say so in bounded words |
//! | `messages` | messages | a capture of them is decoded to the same messages; the monitor comes to an end |
//! | `connection` | inputs and calls | the simulator's laws, and what is refused changes nothing |
//! | `modes` | the same, twice | strict mode does what tolerant mode does, until something is tolerated |
//! | `pair` | every choice and every chance of a run | the laws, delivery and liveness under faults |
//! | `monitor` | the same | the monitor finds no violation in what two connections say |
//! | `smb2` | a message of SMB2 | what is read lies inside; what is built of it is read as the same |
//! | `relay` | messages of a client and a server, room, ends of operations | room and buffers are kept, and nothing follows the end |
//! | `reverse` | the same of a gateway the other way round | the server has access to its own buffers only, and the rest as for `relay` |
//! | `ntlm` | a message of NTLM | both sides answer it or fail; nobody logs in without a password |
//! | `spnego` | a token of SPNEGO | the same, in every state; what is read is written as it was |
//! | `smb2_client` | a server's answers, changed, and messages of nobody | each operation of a client has one result, and memory is back before it |
//! | `smb2_server` | messages of a client, ends of operations and transfers | each request is answered once, and files and credits have their limits |
//! | `lz77` | the size of plain data, and compressed ones | they become that number of bytes or are refused, and are the same after compression |
//! | `huffman` | the same of LZ77+Huffman | as for `lz77` |
//! | `lznt1` | the same of LZNT1 | as for `lz77` |
//! | `lz4` | the same of LZ4 | as for `lz77` |
//! | `decompress` | what is negotiated, and a compressed message | memory stays within the limit, and the plain form is a message of SMB2; all else is refused |
//! | `compress` | what is negotiated, and a message of runs, repetitions and other bytes | it is the same after compression and decompression, and shorter between them |
//! | `broker_wire` | a packet between a broker and an owner | what is read is written again as it was |
//! | `broker` | what owners and clients of a broker do, and packets of any bytes | the laws of a model with records of its own |
//! | `canary` | as `connection` | has to fail: the laws are told of one credit more than was granted |
//!
//! The bodies run in three ways: under libFuzzer (`fuzz/run`, or cargo-fuzz), over the files of `fuzz/corpus` with
//! `cargo test -p smbd-fuzz`, and over files that are named, to see a find again:
//! `cargo run --locked -p smbd-fuzz --bin fuzz-connection -- FILE`.

pub mod replay;
#[cfg(feature = "smbd-sim")]
mod rig;
pub mod targets;

/// The program of a target: libFuzzer's entry in a fuzzing build, a player of files otherwise.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        #[allow(unsafe_code, missing_docs, reason = "libFuzzer calls a C function")]
        mod entry {
            libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::targets::$name(data));
        }

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::replay::main(stringify!($name), $crate::targets::$name)
        }
    };
}
