//! Bytes of the server's answers: NEGOTIATE, SESSION_SETUP, and those of a mount as Linux has it.

use std::fmt::Write;

use smbd_smb2::wire::{
    Cipher, CloseRequest, Compound, CreateDisposition, CreateOptions, Dialect, DirectoryInformationClass,
    Elements, FileId, InfoType, QueryDirectoryRequest, QueryInfoRequest, Text,
};

use crate::rig::{Rig, TCP, create, opened, params};

/// All messages that the server has sent since the last time: 32 bytes a line, headers by themselves.
fn sent(rig: &mut Rig, from: usize) -> String {
    let mut text = String::new();
    for (message, _) in &rig.sent[from..] {
        for element in Elements::new(message) {
            let element = element.unwrap();
            let header = element.header;
            writeln!(text, "{} {}, {} credits", header.command, header.status, header.credits).unwrap();
            let (front, body) = element.bytes.split_at(64);
            for part in [front, body] {
                for line in part.chunks(32) {
                    let hex: Vec<String> = line
                        .chunks(4)
                        .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect())
                        .collect();
                    writeln!(text, "  {}", hex.join(" ")).unwrap();
                }
            }
        }
    }
    text
}

#[test]
fn the_answer_to_negotiate() {
    for (name, dialect) in [("negotiate_3_1_1", Dialect::SMB_3_1_1), ("negotiate_3_0_2", Dialect::SMB_3_0_2)]
    {
        let mut rig = Rig::new(params(), TCP);
        rig.negotiate(&[dialect], &[Cipher::AES_128_GCM, Cipher::AES_128_CCM]);
        insta::assert_snapshot!(name, sent(&mut rig, 0));
    }
}

#[test]
fn the_answers_to_session_setup() {
    let mut rig = Rig::new(params(), TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_GCM]);
    rig.log_in("tester", "correct horse");
    insta::assert_snapshot!("session_setup", sent(&mut rig, 1));
}

#[test]
fn the_answers_to_a_mount_and_a_listing() {
    let mut rig = Rig::ready(params(), TCP);
    let file = rig.file("hello.txt");
    rig.request(&CloseRequest { file_id: file, ..CloseRequest::default() });
    let from = rig.sent.len();
    rig.connect("data");
    let root = opened(&rig.create("", CreateDisposition::OPEN, CreateOptions::NONE));
    for (info_type, info_class) in [
        (InfoType::FILESYSTEM, 5),
        (InfoType::FILESYSTEM, 4),
        (InfoType::FILESYSTEM, 1),
        (InfoType::FILESYSTEM, 11),
        (InfoType::FILESYSTEM, 7),
    ] {
        let request = QueryInfoRequest {
            file_id: root,
            info_type,
            info_class,
            output_buffer_length: 1000,
            ..QueryInfoRequest::default()
        };
        rig.request(&request);
    }
    rig.request(&QueryDirectoryRequest {
        file_id: root,
        information_class: DirectoryInformationClass::ID_FULL_DIRECTORY,
        output_buffer_length: 65536,
        pattern: Text::from("*"),
        ..QueryDirectoryRequest::default()
    });
    rig.request(&CloseRequest { file_id: root, ..CloseRequest::default() });
    // stat
    let any = FileId::RELATED;
    let mut bytes = Vec::new();
    let mut compound = Compound::new(&mut bytes);
    let stat = create("hello.txt", CreateDisposition::OPEN, CreateOptions::OPEN_REPARSE_POINT);
    compound.add(&rig.header::<smbd_smb2::wire::CreateRequest<'_>>(0), &stat).unwrap();
    let all = QueryInfoRequest {
        file_id: any,
        info_type: InfoType::FILE,
        info_class: 18,
        output_buffer_length: 1000,
        ..QueryInfoRequest::default()
    };
    compound.add(&rig.header::<QueryInfoRequest<'_>>(0).related(), &all).unwrap();
    let close = CloseRequest { file_id: any, ..CloseRequest::default() };
    compound.add(&rig.header::<CloseRequest>(0).related(), &close).unwrap();
    rig.send(bytes);
    insta::assert_snapshot!("mount", sent(&mut rig, from));
}
