//! What a directory tells of its entries (3.3.5.18).

use smbd_smb2::wire::{
    CloseRequest, CreateDisposition, CreateOptions, DirectoryInformationClass, FileId, NtStatus,
    QueryDirectoryFlags, QueryDirectoryRequest, QueryDirectoryResponse, Text,
};

use crate::rig::{Rig, TCP, opened, params};

fn ready() -> Rig {
    Rig::ready(params(), TCP)
}

/// Names of a directory, by a class, and what came of the last request.
fn list(rig: &mut Rig, file_id: FileId, request: QueryDirectoryRequest<'_>) -> (Vec<String>, NtStatus) {
    let mut names = Vec::new();
    let mut request = QueryDirectoryRequest { file_id, ..request };
    loop {
        let header = rig.header::<QueryDirectoryRequest<'_>>(request.output_buffer_length.into());
        let answer = rig.ask(&header, &request);
        if answer.status() != NtStatus::SUCCESS {
            return (names, answer.status());
        }
        let response = QueryDirectoryResponse::parse(&answer.bytes).unwrap();
        let fixed = match request.information_class {
            DirectoryInformationClass::NAMES => 12,
            DirectoryInformationClass::ID_BOTH_DIRECTORY => 104,
            DirectoryInformationClass::ID_FULL_DIRECTORY => 80,
            other => panic!("{other}"),
        };
        let length_at = if fixed == 12 { 8 } else { 60 };
        let mut rest = response.output;
        loop {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
            names.push(Text::from_wire(&rest[fixed..fixed + word(length_at)]).to_string());
            match word(0) {
                0 => break,
                next => rest = &rest[next..],
            }
        }
        let begins = QueryDirectoryFlags::RESTART_SCANS | QueryDirectoryFlags::REOPEN;
        request.flags = request.flags.with(begins, false);
    }
}

#[test]
fn a_directory_is_listed_whole_in_every_size_of_answers() {
    let mut rig = ready();
    let directory = rig.directory("d");
    let mut expected = vec![".".to_owned(), "..".to_owned()];
    for number in 0..100 {
        let file = rig.file(&format!("d\\file {number}"));
        rig.request(&CloseRequest { file_id: file, ..CloseRequest::default() });
        expected.push(format!("file {number}"));
    }
    for information_class in [
        DirectoryInformationClass::NAMES,
        DirectoryInformationClass::ID_BOTH_DIRECTORY,
        DirectoryInformationClass::ID_FULL_DIRECTORY,
    ] {
        for output_buffer_length in [130, 500, 65536] {
            let request = QueryDirectoryRequest {
                information_class,
                output_buffer_length,
                flags: QueryDirectoryFlags::RESTART_SCANS,
                pattern: Text::from("*"),
                ..QueryDirectoryRequest::default()
            };
            let (names, status) = list(&mut rig, directory, request);
            assert_eq!((names, status), (expected.clone(), NtStatus::NO_MORE_FILES), "{information_class}");
        }
    }
}

#[test]
fn a_pattern_and_its_flags_say_what_is_listed() {
    let mut rig = ready();
    let root = opened(&rig.create("", CreateDisposition::OPEN, CreateOptions::NONE));
    for name in ["a.txt", "b.TXT", "c.bin"] {
        rig.file(name);
    }
    let request = |pattern, flags| QueryDirectoryRequest {
        information_class: DirectoryInformationClass::NAMES,
        output_buffer_length: 1000,
        pattern: Text::from(pattern),
        flags,
        ..QueryDirectoryRequest::default()
    };
    let single = QueryDirectoryFlags::RETURN_SINGLE_ENTRY;
    let (names, _) = list(&mut rig, root, request("*.txt", single));
    assert_eq!(names, ["a.txt", "b.TXT"]);
    let (names, status) = list(&mut rig, root, request("*", QueryDirectoryFlags::NONE));
    assert_eq!((names.len(), status), (0, NtStatus::NO_MORE_FILES), "the first pattern stays");
    let (names, _) = list(&mut rig, root, request("C*", QueryDirectoryFlags::REOPEN));
    assert_eq!(names, ["c.bin"]);
    let (_, status) = list(&mut rig, root, request("nothing", QueryDirectoryFlags::RESTART_SCANS));
    assert_eq!(status, NtStatus::NO_SUCH_FILE);
    let (_, status) = list(&mut rig, root, request("nothing", QueryDirectoryFlags::NONE));
    assert_eq!(status, NtStatus::NO_MORE_FILES, "the search has begun before");
}

#[test]
fn a_bad_enumeration_is_refused() {
    let mut rig = ready();
    let (root, file) = (rig.directory("d"), rig.file("a long name"));
    let good = QueryDirectoryRequest {
        information_class: DirectoryInformationClass::NAMES,
        output_buffer_length: 1000,
        file_id: root,
        ..QueryDirectoryRequest::default()
    };
    for (request, expected) in [
        (QueryDirectoryRequest { file_id: file, ..good }, NtStatus::INVALID_PARAMETER),
        (QueryDirectoryRequest { output_buffer_length: 11, ..good }, NtStatus::INFO_LENGTH_MISMATCH),
        (QueryDirectoryRequest { output_buffer_length: 13, ..good }, NtStatus::BUFFER_OVERFLOW),
        (
            QueryDirectoryRequest { information_class: DirectoryInformationClass(0x4E), ..good },
            NtStatus::NOT_SUPPORTED,
        ),
        (
            QueryDirectoryRequest { information_class: DirectoryInformationClass(9), ..good },
            NtStatus::INVALID_INFO_CLASS,
        ),
    ] {
        assert_eq!(rig.status(&request), expected, "{request:?}");
    }
}

#[test]
fn requests_that_arrive_together_tell_each_name_once_and_in_order() {
    let mut rig = ready();
    let directory = rig.directory("d");
    for number in 0..8 {
        let file = rig.file(&format!("d\\{number}"));
        rig.request(&CloseRequest { file_id: file, ..CloseRequest::default() });
    }
    rig.holds = true;
    let request = QueryDirectoryRequest {
        file_id: directory,
        information_class: DirectoryInformationClass::NAMES,
        output_buffer_length: 100,
        flags: QueryDirectoryFlags::RETURN_SINGLE_ENTRY,
        pattern: Text::from("*"),
        ..QueryDirectoryRequest::default()
    };
    for _ in 0..11 {
        let header = rig.header::<QueryDirectoryRequest<'_>>(100);
        rig.silent(&header, &request);
    }
    let header = rig.header::<CloseRequest>(0);
    rig.silent(&header, &CloseRequest { file_id: directory, ..CloseRequest::default() });
    // The driver may carry out what it has in any order: it has no more than one enumeration of a directory.
    let mut answers = Vec::new();
    while !rig.held.is_empty() {
        assert_eq!(rig.held.len(), 1);
        rig.release();
        answers.extend(rig.answers());
    }
    assert_eq!(answers.pop().map(|answer| answer.status()), Some(NtStatus::SUCCESS), "CLOSE");
    assert_eq!(answers.pop().map(|answer| answer.status()), Some(NtStatus::NO_MORE_FILES));
    let names = answers.iter().map(|answer| {
        let response = QueryDirectoryResponse::parse(&answer.bytes).unwrap();
        Text::from_wire(&response.output[12..]).to_string()
    });
    assert_eq!(names.collect::<Vec<_>>(), [".", "..", "0", "1", "2", "3", "4", "5", "6", "7"]);
}
