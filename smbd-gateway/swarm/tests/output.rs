//! Standard output of the program: closed, full, too long.

use smbd_testkit::swarm::output;

#[test]
fn a_reader_who_has_gone_is_no_failure_and_an_output_that_cannot_be_written_is_2() {
    output::check("smbd-gateway-swarm", env!("CARGO_BIN_EXE_smbd-gateway-swarm"));
}
