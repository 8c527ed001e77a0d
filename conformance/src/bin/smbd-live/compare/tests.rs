use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use super::Server;
use super::rounds::{Round, Rounds, TRIES};
use super::subject::SUBJECTS;

/// The rounds of a subject by its name.
fn rounds(name: &str) -> Rounds {
    Rounds::new(SUBJECTS.iter().find(|subject| subject.name == name).unwrap())
}

#[test]
fn a_round_in_which_a_program_has_no_result_is_played_again_and_counted() {
    let mut rounds = rounds("read 64 KiB");
    let mut played = 0;
    for _ in 0..3 {
        // The first fails once, the second always.
        rounds.play_with(|| {
            played += 1;
            (played != 1 && !(3..6).contains(&played)).then(|| Round::of(played.into(), 4.0, 8.0))
        });
    }
    assert_eq!(played, 2 + TRIES + 1);
    let (row, is_reached) = rounds.row("siw0");
    assert_eq!(
        row,
        "| read 64 KiB | 4.0 MB/s | 4.0 | 1.00 (0.50 1.50) | ≥ 1.00 | 8.0 | 0.50 (0.25 0.75) | 0.000 | 0.000 | 4 |"
    );
    assert!(is_reached);
}

#[test]
fn a_goal_is_held_against_perftest_that_was_asked_for_the_same_and_times_have_one_for_each_kind_of_device() {
    let mut latency = rounds("latency 24 B");
    latency.play_with(|| Some(Round::of(13.0, 10.0, 100.0)));
    let goal = |device| latency.row(device).0.split(" | ").nth(4).unwrap().to_owned();
    assert_eq!(goal("siw0"), "≤ 1.25 (missed)");
    assert_eq!(goal("rxe0"), "≤ 1.40");
    assert!(!latency.row("siw0").1 && latency.row("rxe0").1);
}

#[test]
fn without_a_result_no_goal_is_reached() {
    let (row, is_reached) = rounds("send 8192 B").row("siw0");
    assert!(row.contains("| - | - | ≥ 1.00 (missed) |"), "{row}");
    assert!(!is_reached);
}

#[test]
fn a_server_that_is_left_takes_with_it_what_it_has_started() {
    let mut command = Command::new("timeout");
    command.args(["600", "sh", "-c", "echo up; read line; echo still there"]);
    let mut server = Server::start(command.stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
    let (input, output) = (server.0.stdin.take(), server.0.stdout.take());
    let mut output = BufReader::new(output.unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(server);
    // What is still there goes on now.
    drop(input);
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}
