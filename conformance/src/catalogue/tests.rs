use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{
    Catalogue, Coverage, EXCEPTIONS_MAX, Exception, Fault, IssueId, Level, Need, Role, Source, StatementId,
    issues,
};

/// Sections of MS-SMBD 12.0 that say something, and how many statements each has.
const SECTIONS: [(&str, usize); 38] = [
    ("1.5", 3),
    ("1.7", 4),
    ("1.8", 1),
    ("1.9", 4),
    ("2.1", 2),
    ("2.2", 10),
    ("2.2.1", 14),
    ("2.2.2", 21),
    ("2.2.3", 21),
    ("2.2.3.1", 5),
    ("3.1.1", 1),
    ("3.1.1.1", 4),
    ("3.1.2.1", 1),
    ("3.1.2.2", 3),
    ("3.1.4.1", 15),
    ("3.1.4.2", 5),
    ("3.1.4.3", 5),
    ("3.1.4.4", 3),
    ("3.1.4.5", 6),
    ("3.1.4.6", 6),
    ("3.1.4.7", 1),
    ("3.1.5.1", 20),
    ("3.1.5.2", 10),
    ("3.1.5.3", 17),
    ("3.1.5.4", 25),
    ("3.1.5.5", 5),
    ("3.1.5.6", 22),
    ("3.1.5.7", 23),
    ("3.1.5.8", 25),
    ("3.1.5.9", 9),
    ("3.1.6.1", 2),
    ("3.1.6.2", 5),
    ("3.1.7.1", 2),
    ("3.1.7.2", 10),
    ("6", 2),
    ("6.1", 3),
    ("6.2", 7),
    ("7", 18),
];

/// Microsoft's MS-SMBD cases that need no SMB2 server.
const SUITE: [&str; 42] = [
    "BVT_SmbdNegotiate_Basic",
    "SmbdNegotiate_PreferredSendSizeWithZero",
    "SmbdNegotiate_PreferredSendSizeLessThan128",
    "SmbdNegotiate_PreferredSendSizeMaxValue",
    "SmbdNegotiate_Redundancy",
    "SmbdNegotiate_DisconnectAfterNegotiate",
    "SmbdNegotiate_UncompletedMessage",
    "SmbdNegotiate_VersionRangeNotCover0x0100_LessThanMinVersion",
    "SmbdNegotiate_VersionRangeNotCover0x0100_LargerThanMaxVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMaxVersion",
    "SmbdNegotiate_VersionRangeCover0x0100_InMiddle",
    "SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersionAndMaxVersion",
    "SmbdNegotiate_NegativeParameter_CreditsRequested",
    "SmbdNegotiate_NegativeParameter_MaxReceiveSize",
    "SmbdNegotiate_NegativeParameter_MaxFragmentedSize",
    "SmbdNegotiate_NegotiationTimer",
    "SmbdNegotiate_NegotiationTimer_Timeout",
    "BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData",
    "BVT_SmbdDataTransfer_Basic_SendModerateBytesData",
    "SmbdDataTransfer_VariableLengthSegment",
    "SmbdDataTransfer_SmallLengthSegment",
    "SmbdDataTransfer_Redundancy",
    "SmbdDataTransfer_ReceiveMaxReceiveSize",
    "SmbdDataTransfer_UncompletedMessage",
    "SmbdDataTransfer_NegativeParameter_DataOffset_Against8ByteAligned",
    "SmbdDataTransfer_NegativeParameter_DataOffset_AgainstMessageLength",
    "SmbdDataTransfer_NegativeParameter_DataLength_AgainstMessageLength",
    "SmbdDataTransfer_NegativeParameter_DataLength_AgainstMaxReceiveSize",
    "SmbdDataTransfer_NegativeParameter_AgainstMaxFragmentedSize",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstMaxFragmentedSize",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_Zero",
    "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstFragmentReassemblyRemaining",
    "SmbdDataTransfer_IdleConnection_Client",
    "SmbdDataTransfer_IdleConnection_Server",
    "SmbdDataTransfer_IdleConnection_Server_Timeout",
    "BVT_SmbdCreditMgmt_OperationWithMinimumCredits",
    "SmbdCreditMgmt_OperationWithLimitedCredits",
    "SmbdCreditMgmt_ConsumeAllSendCredits",
    "SmbdCreditMgmt_ConsumeAllReceiveCredits",
    "SmbdCreditMgmt_ConsumeAllCreditServer_Timeout",
    "SmbdCreditMgmt_NegativeParameter_CreditRequested",
];

/// Those that need one, in the order of its groups.
const SMB2_SUITE: [&str; 50] = [
    "BVT_Smb2OverRdmaChannel_ReadLargeFile",
    "Smb2OverRdmaChannel_ReadMultipleOperation",
    "BVT_Smb2OverRdmaChannel_WriteLargeFile",
    "Smb2OverRdmaChannel_WriteMultipleOperation",
    "Smb2OverRdmaChannel_ReadWriteMultipleBufferDescriptorList",
    "Smb2OverRdmaChannel_InvalidBufferDescriptor_Offset",
    "Smb2OverRdmaChannel_InvalidBufferDescriptor_Length",
    "Smb2OverRdmaChannel_InvalidBufferDescriptor_Token",
    "Smb2OverRdmaChannel_InvalidBufferDescriptor_DeregisteredBuffer",
    "BVT_Smb2OverRdma_Smb302_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
    "BVT_Smb2OverRdma_Smb302_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
    "Smb2OverRdma_Write_SMB2_CHANNEL_RDMA_V1",
    "Smb2OverRdma_Read_SMB2_CHANNEL_RDMA_V1",
    "Smb2OverRdma_Smb300_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
    "Smb2OverRdma_Smb300_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
    "BVT_Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128CCM",
    "Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128GCM",
    "Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256CCM",
    "Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256GCM",
    "Smb2OverRdmaChannelTransform_Encryption_ReadMultipleOperation",
    "BVT_Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128CCM",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128GCM",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256CCM",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256GCM",
    "Smb2OverRdmaChannelTransform_Encryption_WriteMultipleOperation",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_NoTransformIds_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_ZeroTransformCount_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_MultipleEncryptionStructure_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_EncryptionAndSigningStructure_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_BufferNotAligned_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseSignatureLength_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128CCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128GCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256CCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256GCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128CCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128GCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256CCM_Fails",
    "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256GCM_Fails",
    "Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_GMAC",
    "Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_CMAC",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_GMAC",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_CMAC",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_FlagsSignedNotSet_Fails",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_SigningStructure_EncryptionId_Fails",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_InvalidSignature_Fails",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_NoTransformIds_Fails",
    "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_ZeroTransformCount_Fails",
    "BVT_Smb2MultipleChannel_2Channels_DiffNicTypeDiffTransport",
    "Smb2Multichannel_2Channels_DiffTransport",
];

/// Statements of each section of MS-SMB2 that is about READ and WRITE by RDMA, and about how a session comes to SMB Direct.
const SMB2_SECTIONS: [(&str, usize); 5] =
    [("3.2.5.11", 20), ("3.3.5.5", 1), ("3.3.5.12", 21), ("3.3.5.13", 30), ("3.3.5.15.11", 1)];

const AREAS: [&str; 11] = [
    "negotiate",
    "credits",
    "fragments",
    "keepalive",
    "rdma",
    "closing",
    "limits",
    "examples",
    "upper",
    "survival",
    "smb2",
];

fn catalogue() -> Catalogue {
    Catalogue::load().unwrap_or_else(|error| panic!("{error}"))
}

/// The entries on MS-SMBD: the chapters SE, CH, RT and CO are on security, channels, transforms and compression of MS-SMB2, which tests of
/// smbd-smb2 show and no case
/// can yet.
fn register() -> BTreeSet<IssueId> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec-issues.md");
    let mut issues = issues(&fs::read_to_string(path).unwrap());
    issues.retain(|issue| {
        !["SE-", "CH-", "RT-", "CO-"].iter().any(|group| issue.to_string().starts_with(group))
    });
    issues
}

fn issue(id: &str) -> IssueId {
    id.to_owned().try_into().unwrap()
}

fn id(text: &str) -> StatementId {
    text.to_owned().try_into().unwrap()
}

#[test]
fn statements_cases_and_issues_agree() {
    let faults: Vec<_> = catalogue().faults(&register()).iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn all_340_statements_and_73_of_ms_smb2_are_there_numbered_by_section() {
    let mut expected = Vec::new();
    for (section, count) in SECTIONS.into_iter().chain(SMB2_SECTIONS) {
        expected.extend((1..=count).map(|number| format!("{section}-{number:02}")));
    }
    let ids: Vec<_> = catalogue().statements.iter().map(|statement| statement.id.to_string()).collect();
    assert_eq!(ids.len(), 340 + 73);
    assert_eq!(ids, expected);
}

#[test]
fn of_277_must_statements_on_the_sides_few_are_excepted() {
    let musts = catalogue().summary().peer_musts;
    assert_eq!(musts.total(), 277);
    assert!(musts.excepted <= EXCEPTIONS_MAX, "{musts}");
}

#[test]
fn every_case_of_the_suite_is_there_under_its_own_name() {
    let catalogue = catalogue();
    for name in SUITE.into_iter().chain(SMB2_SUITE) {
        let case = catalogue.case(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(case.source.contains(&Source::Suite(name.to_owned())), "{name}: {:?}", case.source);
    }
    assert_eq!(catalogue.summary().suite_cases, SUITE.len() + SMB2_SUITE.len());
}

#[test]
fn every_example_has_its_case() {
    let sources: BTreeSet<_> = catalogue().cases.into_iter().flat_map(|case| case.source).collect();
    for section in ["4.1", "4.2", "4.3", "4.4", "4.5"] {
        assert!(sources.contains(&Source::Example(section.to_owned())), "{section}");
    }
}

#[test]
fn names_of_our_cases_are_sentences_in_an_area() {
    for case in catalogue().cases {
        let Some((area, what)) = case.name.split_once("::") else {
            let name = case.name.as_str();
            assert!(SUITE.contains(&name) || SMB2_SUITE.contains(&name), "{name} is no case of the suite");
            continue;
        };
        assert!(AREAS.contains(&area), "{}", case.name);
        assert_eq!(case.group, area, "{}", case.name);
        assert!(
            what.contains('_') && what.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()),
            "{what}"
        );
    }
}

#[test]
fn statements_on_the_upper_layer_are_covered() {
    for statement in catalogue().statements {
        let excepted = statement.coverage.exception().is_some();
        assert!(statement.role != Role::Upper || !excepted, "{}", statement.id);
    }
}

#[test]
fn a_provider_is_excused_from_its_own_duties_only() {
    for statement in catalogue().statements {
        if let Coverage::Exception(Exception::ProviderDuty { .. }) = statement.coverage {
            assert_eq!(statement.role, Role::Provider, "{}", statement.id);
        }
        assert_eq!(statement.level == Level::Product, statement.id.section() == "7", "{}", statement.id);
    }
}

#[test]
fn what_a_reason_refers_to_is_there() {
    let catalogue = catalogue();
    for statement in &catalogue.statements {
        let Some(exception) = statement.coverage.exception() else { continue };
        let words = exception.reason().split(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
        let in_area = |word: &&str| word.split_once("::").is_some_and(|(area, _)| AREAS.contains(&area));
        for name in words.filter(in_area) {
            assert!(catalogue.case(name).is_some(), "{}: {name}", statement.id);
        }
    }
}

#[test]
fn a_case_that_takes_time_says_so() {
    for case in catalogue().cases {
        let waits = case.needs.contains(&Need::Timers);
        assert!(!waits || !case.time.is_zero(), "{} waits for a timer and takes no time", case.name);
        assert!(case.time.as_secs() < 300, "{}", case.name);
        let needs: BTreeSet<_> = case.needs.iter().collect();
        assert_eq!(needs.len(), case.needs.len(), "{}: {:?}", case.name, case.needs);
        // What only a subject of our own shows is marked.
        let upper = case.steps.iter().chain(&case.expected).any(|line| line.contains("upper: "));
        assert!(!upper || case.needs.contains(&Need::Upper), "{}", case.name);
    }
}

#[test]
fn no_two_texts_are_alike() {
    let mut texts = BTreeMap::new();
    for statement in catalogue().statements {
        assert!(statement.text.ends_with('.'), "{}", statement.id);
        if let Some(other) = texts.insert(statement.text, statement.id.clone()) {
            panic!("{other} and {} say the same", statement.id);
        }
    }
}

#[test]
fn the_summary_counts_everything_once() {
    let summary = catalogue().summary();
    assert_eq!(summary.statements.total(), 413);
    assert_eq!(summary.sections.len(), SECTIONS.len() + SMB2_SECTIONS.len());
    assert_eq!(summary.levels.values().map(|count| count.total()).sum::<usize>(), 413);
    assert_eq!(summary.roles.values().map(|count| count.total()).sum::<usize>(), 413);
    let text = summary.to_string();
    let (covered, excepted) = (summary.statements.covered, summary.statements.excepted);
    assert!(
        text.starts_with(&format!("requirements: 413 ({covered} covered, {excepted} excepted)\n")),
        "{text}"
    );
}

#[test]
fn each_kind_of_fault_is_found() {
    let good = catalogue();
    let register = register();
    let faults = |change: &dyn Fn(&mut Catalogue)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed.faults(&register)
    };
    let first = good.cases[0].name.clone();
    let statement = good.cases[0].statements[0].clone();
    let at = good.statements.iter().position(|s| s.id == statement).unwrap();
    let none = || Coverage::Exception(Exception::OtherProduct { reason: "none".to_owned() });

    let renamed = faults(&|catalogue| catalogue.cases[0].name = "limits::another_name".to_owned());
    assert!(renamed.contains(&Fault::UnknownCase { statement: statement.clone(), case: first.clone() }));
    let silent = faults(&|catalogue| drop(catalogue.cases[0].statements.remove(0)));
    assert!(silent.contains(&Fault::NothingAsserted { statement: statement.clone(), case: first.clone() }));
    let lost = faults(&|catalogue| drop(catalogue.statements.remove(at)));
    assert!(lost.contains(&Fault::UnknownStatement { case: first.clone(), statement: statement.clone() }));
    let excused = faults(&|catalogue| catalogue.statements[at].coverage = none());
    assert!(excused.contains(&Fault::NotCounted { case: first.clone(), statement: statement.clone() }));
    assert!(excused.contains(&Fault::OtherProduct(statement.clone())));
    let all = faults(&|catalogue| catalogue.statements.iter_mut().for_each(|s| s.coverage = none()));
    assert!(all.contains(&Fault::TooManyExceptions { got: 277 }));
    let twice = faults(&|catalogue| {
        catalogue.cases.push(catalogue.cases[0].clone());
        catalogue.statements.push(catalogue.statements[at].clone());
    });
    assert!(
        twice.contains(&Fault::CaseTwice(first.clone())) && twice.contains(&Fault::StatementTwice(statement))
    );
    let empty = faults(&|catalogue| catalogue.cases[0].expected.clear());
    assert_eq!(empty, [Fault::Incomplete { case: first.clone(), what: "expectation" }]);

    let gone = faults(&|catalogue| catalogue.unshown.clear());
    assert_eq!(gone, [Fault::IssueNotShown(issue("DOC-4")), Fault::IssueNotShown(issue("DOC-5"))]);
    let shown = faults(&|catalogue| catalogue.cases[0].source.push(Source::Issue(issue("DOC-4"))));
    assert_eq!(shown, [Fault::IssueShown(issue("DOC-4"))]);
    let invented = faults(&|catalogue| catalogue.cases[0].source.push(Source::Issue(issue("XX-1"))));
    assert_eq!(invented, [Fault::UnknownIssue { by: first, issue: issue("XX-1") }]);
    let request = id("3.1.5.2-09");
    let other_side = faults(&|catalogue| {
        for name in catalogue.statement(&request).unwrap().coverage.cases().to_vec() {
            catalogue.cases.iter_mut().find(|case| case.name == name).unwrap().role =
                super::UnderTest::Acceptor;
        }
    });
    let side = super::UnderTest::Initiator;
    assert!(other_side.contains(&Fault::SideNotShown { statement: request.clone(), side }));
}

#[test]
fn each_section_with_statements_has_a_title_and_no_other() {
    let statement = "[[statement]]\nid = \"2.2-01\"\nsection = \"2.2\"\nlevel = \"MUST\"\nrole = \"both\"\ntext = \"So.\"\n\
        covered_by = [\"limits::one\"]";
    let parse = |titles: &str| {
        let text = format!("document = \"D\"\ntitles = {{ {titles} }}\n{statement}");
        Catalogue::parse(&text, "case = []").map(|catalogue| catalogue.sections)
    };
    let section = |number: &str, title: &str| {
        let [document, number, title] = ["D", number, title].map(str::to_owned);
        super::Section { document, number, title }
    };
    assert_eq!(parse("\"2.2\" = \"Syntax\""), Ok(vec![section("2.2", "Syntax")]));
    assert!(parse("").is_err() && parse("\"2.2\" = \"Syntax\", \"2.3\" = \"More\"").is_err());
    let numbers: BTreeSet<_> = catalogue().sections.into_iter().map(|section| section.number).collect();
    assert_eq!(numbers.len(), SECTIONS.len() + SMB2_SECTIONS.len());
}

#[test]
fn a_statement_is_either_covered_or_excepted() {
    let statement = |rest: &str| {
        let text = format!(
            "document = \"D\"\ntitles = {{ \"2.2\" = \"Syntax\" }}\n[[statement]]\nid = \"2.2-01\"\nsection = \"2.2\"\nlevel = \"MUST\"\nrole = \"both\"\ntext = \"So.\"\n{rest}"
        );
        Catalogue::parse(&text, "case = []").map(|catalogue| catalogue.statements.len())
    };
    assert_eq!(statement("covered_by = [\"limits::one\"]"), Ok(1));
    assert_eq!(statement("exception = { kind = \"not-observable\", reason = \"Inside.\" }"), Ok(1));
    let deviation = "exception = { kind = \"deliberate-deviation\", issue = \"CR-4\", reason = \"Better.\" }";
    assert_eq!(statement(deviation), Ok(1));
    for bad in [
        "",
        "covered_by = []",
        "covered_by = [\"limits::one\"]\nexception = { kind = \"not-observable\", reason = \"Inside.\" }",
        "exception = { kind = \"not-observable\", reason = \"\" }",
        "exception = { kind = \"not-observable\" }",
        "exception = { kind = \"not-observable\", issue = \"CR-4\", reason = \"Inside.\" }",
        "exception = { kind = \"deliberate-deviation\", reason = \"Better.\" }",
        "exception = { kind = \"laziness\", reason = \"None.\" }",
        "covered_by = [\"limits::one\"]\nanything = 1",
    ] {
        assert!(statement(bad).is_err(), "{bad}");
    }
}

#[test]
fn ids_are_well_formed() {
    for bad in ["", "2.2", "2.2-1", "2.2-00", "2.2-001", "2..2-01", "2.2-x1", "-01", "2.2.-01"] {
        assert!(StatementId::try_from(bad.to_owned()).is_err(), "{bad}");
    }
    let good = id("3.1.5.8-06");
    assert_eq!((good.section(), good.number()), ("3.1.5.8", 6));
    for bad in ["", "CR", "CR-", "CR-x", "cr-1", "-1"] {
        assert!(IssueId::try_from(bad.to_owned()).is_err(), "{bad}");
    }
    assert!(issues("### CR-4: a\n## CR-5: b\n### CR-6 c\n") == BTreeSet::from([issue("CR-4")]));
}
