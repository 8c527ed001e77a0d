//! The table of what a connection takes: `docs/benchmarks.md` has it, and `repository/tests/memory_table.rs` compares.

use std::fmt::Write;

use allocation_counter::measure;
use smbd_core::backend::WorkQueues;
use smbd_core::{Budget, Config, Endpoint, Instant, Params, Role};

use super::footprint;
use crate::ffi::{Sizes, queue_tables, slab_bytes};
use crate::quirks::{self, tests::device};
use crate::{DeviceAttributes, VerbsConnection, fit};

/// Bytes on the heap of what `make` returns.
fn heap<T>(make: impl FnOnce() -> T) -> u64 {
    let mut made = None;
    let count = measure(|| made = Some(make()));
    drop(made);
    u64::try_from(count.bytes_current).unwrap()
}

/// For a device that has enough of everything, and no quirks.
fn sizes(budget: &Budget) -> Sizes {
    let device = DeviceAttributes { max_qp_wr: u32::MAX, max_sge: 2, max_cqe: u32::MAX, ..device(0, false) };
    fit::sizes(budget, &device, quirks::of(&device)).unwrap()
}

const fn places(entries: u32) -> u64 {
    (entries as u64).next_power_of_two()
}

/// rxe of Linux 6.1: `rxe_queue_init` has a header of 384 bytes and a power of two of places, one of them free, of a power of two of
/// bytes, at least 64. A place of the send queue has a `rxe_send_wqe` (208) and room for inline bytes, one of the receive queue a
/// `rxe_recv_wqe` (40) and an element (16).
fn rxe(sizes: &Sizes) -> u64 {
    let queue = |entries, place: u64| 384 + places(entries + 1) * place.next_power_of_two().max(64);
    queue(sizes.send_wr, 208 + u64::from(sizes.inline))
        + queue(sizes.recv_wr, 40 + 16)
        + queue(sizes.cq_entries, 64)
}

/// siw of Linux 6.1: `siw_create_qp` and `siw_create_cq` have a power of two of `siw_sqe` (120), `siw_rqe` (112) and `siw_cqe` (32).
fn siw(sizes: &Sizes) -> u64 {
    places(sizes.send_wr) * 120 + places(sizes.recv_wr) * 112 + places(sizes.cq_entries) * 32
}

/// mlx5 of rdma-core 44: `mlx5_calc_send_wqe` takes for each send the segments of a bind (16 + 48 + 64 + 64) and room for inline bytes in
/// multiples of 64, all of them a power of two; a receive is an element (16), a completion 64. The provider keeps 16 bytes for each 64
/// of the send queue, and 8 for each receive.
fn mlx5(sizes: &Sizes) -> u64 {
    let send = (192 + u64::from(4 + sizes.inline).next_multiple_of(16)).next_multiple_of(64);
    let send_queue = (u64::from(sizes.send_wr) * send).next_power_of_two();
    send_queue + send_queue / 64 * 16 + places(sizes.recv_wr) * (16 + 8) + places(sizes.cq_entries + 1) * 64
}

/// A connection of which nothing is expected but that it is there: a request can come at any time, and a large one goes by RDMA.
fn small() -> Params {
    Params {
        receive_credit_max: 32,
        borrowed_max: 4,
        send_slots: 32,
        message_slots: 32,
        rdma_ops: 16,
        rdma_slots: 16,
        registrations: 16,
        segments_max: 64,
        registration_slots: 16,
        ..Params::windows()
    }
}

/// What feature `faults` adds to a connection, which is for tests: `posts_max`.
const FAULTS: usize = if cfg!(feature = "faults") { size_of::<Option<usize>>() } else { 0 };

fn row(name: &str, params: Params) -> String {
    let config = Config::try_from(params).unwrap();
    let (budget, sizes) = (config.budget(), sizes(&config.budget()));
    let core = heap(|| Box::new(Endpoint::new(Role::Acceptor, &config, Instant::ORIGIN)));
    let tables = heap(|| WorkQueues::new(&budget))
        + heap(|| queue_tables(&sizes))
        + (size_of::<VerbsConnection>() - FAULTS) as u64;
    let slab = |slots, len| slab_bytes(slots, len).unwrap();
    let receives = slab(budget.recv_slots, budget.recv_buffer_len);
    let sends = slab(budget.send_slots, budget.send_buffer_len);
    let device = [rxe, siw, mlx5].map(|device| device(&sizes));
    let most = device.into_iter().max().unwrap();
    let sum = footprint(&config);
    let parts = core + tables + receives + sends + most;
    assert!(parts <= sum && sum <= parts + (128 << 10), "{name}: {parts}, {sum}");
    let mut row = format!("| {name} ");
    for bytes in [core, tables, receives, sends, device[0], device[1], device[2], sum] {
        write!(row, "| {} ", grouped(bytes)).unwrap();
    }
    row + "|\n"
}

fn grouped(bytes: u64) -> String {
    let digits = bytes.to_string();
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let all: Vec<_> = (!head.is_empty()).then(|| head.to_owned()).into_iter().chain(groups).collect();
    all.join(",")
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_connection_takes_what_the_table_says_and_the_footprint_is_not_less() {
    let table = row("Windows, and the default", Params::windows())
        + &row("Linux, client and server", Params::linux_server())
        + &row("Windows with 32 credits and 32 sends", small());
    assert_eq!(
        footprint(&Config::try_from(Params::linux_client()).unwrap()),
        footprint(&Config::try_from(Params::linux_server()).unwrap())
    );
    insta::assert_snapshot!(table, @r"
    | Windows, and the default | 54,984 | 151,687 | 2,359,296 | 360,448 | 361,600 | 122,880 | 235,520 | 3,364,128 |
    | Linux, client and server | 54,984 | 151,687 | 405,504 | 360,448 | 361,600 | 122,880 | 235,520 | 1,410,336 |
    | Windows with 32 credits and 32 sends | 10,080 | 26,137 | 303,104 | 45,056 | 78,976 | 26,624 | 50,688 | 512,312 |
    ");
}
