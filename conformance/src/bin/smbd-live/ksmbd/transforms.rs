//! RDMA transforms (MS-SMB2 2.2.43), which ksmbd has since Linux 7.3, of encryption only: what it insists on and what it lets pass. The steps
//! are with the script of the suite, whose cases `Smb2OverRdmaChannelTransform_` have the rest (`suite-ksmbd-transforms`).

use std::net::SocketAddr;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::profile::Profile;
use smbd_conformance::smb2::client::User;
use smbd_conformance::suite::rig::verbs::{Foreign, Remote};
use smbd_conformance::suite::upper::ServerFacts;
use smbd_conformance::suite::{Options, Play, Stop, Upper, Uppers, ksmbd as steps};
use smbd_smb2::wire::{
    Cipher, ContextType, Dialect, HashAlgorithm, List, NegotiateContext, NegotiateResponse, NtStatus,
    RdmaTransformId, Records, Response,
};

use super::{connect_here, port};
use crate::case::{Case, Context, Failure, Outcome, Skipped, Target};
use crate::expect::same;
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::script::script_with;
use crate::{settings, smb2};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::Ksmbd, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("ksmbd::transforms::context", "which transforms are negotiated for which that are offered", context),
    case("ksmbd::transforms::wrong_contexts", "contexts that are refused", wrong_contexts),
    case(
        "ksmbd::transforms::read_answers",
        "the answer to a READ is not filled up, and each cipher decrypts",
        |at| {
            play(
                at,
                steps::read_answers,
                "DataLength 52 with GCM, 51 with CCM, and nothing behind it (3.3.5.12)",
            )
        },
    ),
    case("ksmbd::transforms::reads_by_other_channels", "a READ by channel 3 is refused", |at| {
        play(at, steps::reads_by_other_channels, "channels 3 and 4 are STATUS_INVALID_PARAMETER (3.3.5.12)")
    }),
    case("ksmbd::transforms::reads_that_are_not_encrypted", "a signed READ has its data as they are", |at| {
        play(at, steps::reads_that_are_not_encrypted, "no transform: there is none of signing (3.3.5.12)")
    }),
    case("ksmbd::transforms::tags", "signatures that do not belong to the data, and their lengths", |at| {
        let seen = "another one is STATUS_AUTH_TAG_MISMATCH, and so are 17 bytes and none (3.3.5.13); with GCM, 4 are taken (2.2.43.1)";
        play(at, steps::tags, seen)
    }),
    case("ksmbd::transforms::nonces", "their lengths, and one that is used again", |at| {
        play(
            at,
            steps::nonces,
            "another length is STATUS_AUTH_TAG_MISMATCH (3.3.5.13); one used again is taken (2.2.43.1)",
        )
    }),
    case("ksmbd::transforms::descriptors", "where descriptors are, and how long", |at| {
        let seen =
            "they begin at the first multiple of 8 behind the transform, and have RemainingBytes (3.3.5.13)";
        play(at, steps::descriptors, seen)
    }),
    case("ksmbd::transforms::counts_and_types", "TransformCount and TransformType", |at| {
        play(at, steps::counts_and_types, "one of encryption; signing is STATUS_INVALID_PARAMETER (3.3.5.13)")
    }),
    case("ksmbd::transforms::fields_beside", "Length, DataOffset and the channel of the request", |at| {
        play(at, steps::fields_beside, "Length and DataOffset are 0 (3.3.5.13)")
    }),
    case("ksmbd::transforms::inner_channels", "the channel of the descriptors", |at| {
        play(
            at,
            steps::inner_channels,
            "RDMA_V1, or RDMA_V1_INVALIDATE, whose first token is invalidated (2.2.43, 3.3.5.13)",
        )
    }),
    case("ksmbd::transforms::what_is_ignored", "fields that are reserved, and padding", |at| {
        play(at, steps::what_is_ignored, "Reserved, Reserved1, Reserved2 and the padding (2.2.43, 2.2.43.1)")
    }),
    case(
        "ksmbd::transforms::without_encryption",
        "encrypted data of a request that is not encrypted",
        |at| play(at, steps::without_encryption, "STATUS_INVALID_PARAMETER (3.3.5.13)"),
    ),
    case(
        "ksmbd::transforms::without_a_transform",
        "an encrypted WRITE of data that are not encrypted",
        |at| play(at, steps::without_a_transform, "taken: 3.3.5.13 does not forbid it"),
    ),
    case("ksmbd::transforms::too_many_bytes", "RemainingBytes above MaxWriteSize", |at| {
        play(
            at,
            steps::too_many_bytes,
            "deviation from 3.3.5.13: 8 MiB are taken, MaxWriteSize is 4 MiB; 8 MiB and a byte are refused",
        )
    }),
];

/// Linux 6.12 has none.
fn has_transforms() -> Result<(), Failure> {
    match Linux::running()? {
        Linux::V6_12 => Err(Skipped::because("ksmbd of this Linux has no RDMA transforms")),
        Linux::V7_3 => Ok(()),
    }
}

/// Plays these steps with the share of the lab; what is seen if they end well.
fn play(context: &Context, steps: fn(&mut Play) -> Result<(), Stop>, seen: &str) -> Outcome {
    const CASE: &str = "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128GCM";
    has_transforms()?;
    let usual = Profile::named("linux-6.12")?.acceptor.script;
    let at = SocketAddr::new(context.address, port());
    let mut target = Foreign::acceptor(at, Remote { usual: Some(usual), ..Remote::default() });
    let facts = ServerFacts {
        dialect: Dialect::SMB_3_1_1,
        share: Some(format!(r"\\{}\share", context.address)),
        user: Some(User { name: "tester".into(), password: "test123".into() }),
        ..ServerFacts::default()
    };
    let uppers = Uppers::default().with(UnderTest::Acceptor, Upper::Server(facts));
    script_with(&mut target, UnderTest::Acceptor, CASE, steps, &Options { uppers, ..Options::default() })?;
    Ok(seen.into())
}

/// The answer to a NEGOTIATE with these contexts besides that of preauthentication, as `look` sees it; or the status of its failure.
fn negotiates<T>(
    context: &Context,
    contexts: &[NegotiateContext<'_>],
    look: impl Fn(&NegotiateResponse<'_>) -> T,
) -> Result<Result<T, NtStatus>, Failure> {
    let mut all = vec![NegotiateContext::PreauthIntegrity {
        hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
        salt: &[0x5a; 32],
    }];
    all.extend_from_slice(contexts);
    let mut connection = connect_here(context, settings::windows())?;
    connection.send(smb2::negotiate_with(0, Records::from(all.as_slice())).into())?;
    let answer = connection.recv(PATIENCE)?;
    let status = smbd_smb2::wire::Header::parse(&answer)?.status;
    let seen = match Response::parse(&answer)? {
        Response::Negotiate(response) => Ok(look(&response)),
        Response::Error(_) => Err(status),
        other => return Err(format!("NEGOTIATE was answered with {other:?}").into()),
    };
    connection.close(PATIENCE)?;
    Ok(seen)
}

/// The transforms of an answer, if it has a context of them.
fn chosen(response: &NegotiateResponse<'_>) -> Option<Vec<RdmaTransformId>> {
    response.contexts.iter().flatten().find_map(|context| match context {
        NegotiateContext::RdmaTransform(ids) => Some(ids.iter().collect()),
        _ => None,
    })
}

/// 3.3.5.4: those that both sides have, or SMB2_RDMA_TRANSFORM_NONE. ksmbd has encryption, and only with a cipher.
fn context(context: &Context) -> Outcome {
    use RdmaTransformId as Id;
    has_transforms()?;
    let ciphers = [Cipher::AES_128_GCM];
    let cipher = NegotiateContext::Encryption(List::from(&ciphers));
    let offers: [(&[Id], &[Id]); 6] = [
        (&[Id::ENCRYPTION], &[Id::ENCRYPTION]),
        (&[Id::ENCRYPTION, Id::SIGNING], &[Id::ENCRYPTION]),
        (&[Id::SIGNING, Id(7), Id::ENCRYPTION], &[Id::ENCRYPTION]),
        (&[Id::SIGNING], &[Id::NONE]),
        (&[Id::NONE], &[Id::NONE]),
        (&[Id(3)], &[Id::NONE]),
    ];
    for (offered, expected) in offers {
        let contexts = [cipher, NegotiateContext::RdmaTransform(List::from(offered))];
        let got = negotiates(context, &contexts, chosen)?;
        same(&format!("the answer to {offered:?}"), got, Ok(Some(expected.to_vec())))?;
    }
    let offered = NegotiateContext::RdmaTransform(List::from(&[Id::ENCRYPTION]));
    same("the answer without a cipher", negotiates(context, &[offered], chosen)?, Ok(Some(vec![Id::NONE])))?;
    same("the answer without an offer", negotiates(context, &[cipher], chosen)?, Ok(None))?;
    Ok("encryption of encryption and signing; none of signing alone, and without a cipher (3.3.5.4)".into())
}

/// 3.3.5.4: a context without ids, one that is too short, and a second one are STATUS_INVALID_PARAMETER.
fn wrong_contexts(context: &Context) -> Outcome {
    has_transforms()?;
    const fn of(data: &[u8]) -> NegotiateContext<'_> {
        NegotiateContext::Other(ContextType::RDMA_TRANSFORM, data)
    }
    let good = of(&[1, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    let refused: [(&str, &[NegotiateContext<'_>]); 5] = [
        ("a context with TransformCount 0", &[of(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0])]),
        ("a context of 7 bytes", &[of(&[1, 0, 0, 0, 0, 0, 0])]),
        ("a context of 9 bytes", &[of(&[1, 0, 0, 0, 0, 0, 0, 0, 1])]),
        ("a context with TransformCount 2 and one id", &[of(&[2, 0, 0, 0, 0, 0, 0, 0, 1, 0])]),
        ("two contexts", &[good, good]),
    ];
    for (what, contexts) in refused {
        same(what, negotiates(context, contexts, chosen)?, Err(NtStatus::INVALID_PARAMETER))?;
    }
    same("a good one", negotiates(context, &[good], chosen)?.is_ok(), true)?;
    Ok("TransformCount 0 or too great, 7 and 9 bytes, and two contexts are STATUS_INVALID_PARAMETER (3.3.5.4)".into())
}
