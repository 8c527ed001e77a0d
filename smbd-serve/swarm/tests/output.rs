//! Standard output of the program: closed, full, too long.

#[path = "../../../smbd-gateway/swarm/tests/ends/mod.rs"]
mod ends;

#[test]
fn a_reader_who_has_gone_is_no_failure_and_an_output_that_cannot_be_written_is_2() {
    let program = env!("CARGO_BIN_EXE_smbd-serve-swarm");
    ends::a_reader_who_has_gone_is_no_failure_and_an_output_that_cannot_be_written_is_2(
        "smbd-serve-swarm",
        program,
    );
}
