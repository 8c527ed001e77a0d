use super::*;
use crate::suite::report::Report;
use crate::suite::report::text::Text;
use crate::suite::rig::Network;
use crate::suite::{Finding, Outcome, Played, Unjudged};

const CASE: &str = "BVT_SmbdNegotiate_Basic";

/// A profile with one thing known: of this side, about this statement, found by this case.
fn text(role: &str, statement: &str, case: &str) -> String {
    format!(
        "name = 'Made up'\nacceptor.name = 'a'\ninitiator.name = 'i'\n[[known]]\nrole = '{role}'\nissue = 'NE-9'\n\
         statements = ['{statement}']\ndoes = 'It does.'\nevidence = 'It was seen.'\nnetwork = 'iwarp'\n\
         [known.finds]\n'{case}' = ['should be 1, it is *', 'more']\n"
    )
}

fn profile() -> Profile {
    Profile::parse(&text("acceptor", "2.2.2-14", CASE)).unwrap()
}

fn played(findings: &[(&str, &str)]) -> Played {
    let finding = |(statements, text): &(&str, &str)| Finding {
        statements: statements.split_whitespace().map(Into::into).collect(),
        text: (*text).into(),
        at: 0,
        connection: None,
        sent: None,
        came: None,
        known: None,
    };
    Played {
        outcome: if findings.is_empty() { Outcome::Passed } else { Outcome::Failed },
        findings: findings.iter().map(finding).collect(),
        ..Played::new(CASE, "acceptor", "as it is")
    }
}

/// What comes of a play with these findings.
fn judged(findings: &[(&str, &str)], network: Option<Network>) -> Played {
    let mut played = Played { network, ..played(findings) };
    profile().judge(&mut played);
    played
}

#[test]
fn all_that_are_built_in_can_be_read_and_name_only_what_there_is() {
    let catalogue = Catalogue::load().unwrap();
    for (name, _) in BUILT_IN {
        let profile = Profile::named(name).unwrap();
        assert_eq!(profile.check(&catalogue), Ok(()));
        // NE-5: with less than 1029 ksmbd offers a MaxFragmentedSize that no client takes.
        assert!(profile.acceptor.script.preferred_send_size.is_some_and(|size| size >= 1029));
        assert!(ProfileError::Unknown(String::new()).to_string().contains(name));
        for known in &profile.known {
            assert!(!known.statements.is_empty(), "{}", known.does);
            assert!(!known.finds.is_empty() || !known.anywhere.is_empty(), "{}", known.does);
            assert!(known.finds.values().all(|texts| !texts.is_empty()), "{}", known.does);
        }
    }
}

#[test]
fn issues_of_profiles_are_in_the_register() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec-issues.md");
    let register = crate::catalogue::issues(&fs::read_to_string(path).unwrap());
    for (name, _) in BUILT_IN {
        for known in Profile::named(name).unwrap().known {
            assert!(known.issue.is_none_or(|issue| register.contains(&issue)), "{}", known.does);
        }
    }
}

#[test]
fn others_are_named_in_the_error() {
    let error = Profile::named("beos").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no profile `beos`; there are: linux-6.12, linux-7.3, and files whose name ends with .toml"
    );
    let error = Profile::named("nowhere/beos.toml").unwrap_err();
    assert!(error.to_string().starts_with("profile `nowhere/beos.toml`: "), "{error}");
}

#[test]
fn a_case_or_statement_that_there_is_not_is_an_error_that_names_it() {
    let catalogue = Catalogue::load().unwrap();
    let told = |text: &str| Profile::parse(text).unwrap().check(&catalogue).unwrap_err().to_string();
    assert_eq!(
        told(&text("acceptor", "2.2.2-14", "negotiate::nothing")),
        "profile `Made up` names the case `negotiate::nothing`, which there is not"
    );
    assert_eq!(
        told(&text("initiator", "2.2.2-14", CASE)),
        "profile `Made up` names the case `BVT_SmbdNegotiate_Basic`, which there is not with the initiator under test"
    );
    assert_eq!(
        told(&text("acceptor", "2.2.2-99", CASE)),
        "profile `Made up` names the statement `2.2.2-99`, which there is not"
    );
    assert!(Profile::parse(&text("acceptor", "2.2.2", CASE)).unwrap_err().contains("no statement"));
    assert!(Profile::parse(&text("nobody", "2.2.2-14", CASE)).unwrap_err().contains("nobody"));
}

#[test]
fn a_play_that_fails_in_known_ways_only_is_known() {
    let known = [("2.2.2-14 3.1.5.6-13", "should be 1, it is 254"), ("2.2.2-14", "more")];
    let play = judged(&known, None);
    assert_eq!(play.outcome, Outcome::Known);
    let told = play.findings[0].known.clone().unwrap();
    assert_eq!((told.issue.as_deref(), told.does.as_str()), (Some("NE-9"), "It does."));
    assert_eq!(judged(&known, Some(Network::Iwarp)).outcome, Outcome::Known);
    // A case that could not be played to its end is about no statement.
    assert_eq!(judged(&[("", "more")], None).outcome, Outcome::Known);
    assert_eq!(judged(&[], None).outcome, Outcome::Passed);
}

#[test]
fn a_play_that_cannot_be_judged_for_a_known_reason_says_so_and_the_report_is_judged() {
    let report = |because: &str| {
        let outcome = Outcome::NotJudged(Unjudged::alone(because.into()));
        let mut play = Played { outcome, ..played(&[]) };
        profile().judge(&mut play);
        Report::new("a".into(), vec!["as it is".into()], &Catalogue::load().unwrap(), vec![play])
    };
    let known = report("should be 1, it is 254");
    assert!(known.judged() && known.totals.cases.not_judged == 1, "{}", known.totals);
    let text = Text { report: &known }.to_string();
    assert!(text.contains("should be 1, it is 254; known: It does."), "{text}");
    assert!(!report("should be 2, it is 254").judged());
}

#[test]
fn what_is_not_known_exactly_is_news() {
    let news = [
        ("2.2.2-14", "should be 2, it is 254"),
        ("2.2.2-14", "mor"),
        ("2.2.2-14", "more of it"),
        ("2.2.2-13", "more"),
    ];
    for finding in news {
        let play = judged(&[("2.2.2-14", "more"), finding], None);
        assert_eq!(play.outcome, Outcome::Failed, "{finding:?}");
        assert!(play.findings[0].known.is_some() && play.findings[1].known.is_none(), "{finding:?}");
    }
    // Known of another network, another side, another case.
    assert_eq!(judged(&[("2.2.2-14", "more")], Some(Network::Roce)).outcome, Outcome::Failed);
    let changes: [fn(&mut Played); 2] =
        [|played| played.role = "initiator".into(), |played| played.case.push('2')];
    for change in changes {
        let mut play = played(&[("2.2.2-14", "more")]);
        change(&mut play);
        profile().judge(&mut play);
        assert_eq!(play.outcome, Outcome::Failed);
    }
}

#[test]
fn what_was_looked_for_and_not_found_is_lost() {
    let texts = |plays: &[Played]| -> Vec<String> {
        profile().lost(plays).into_iter().map(|lost| lost.text).collect()
    };
    assert_eq!(texts(&[judged(&[("2.2.2-14", "more")], None)]), ["should be 1, it is *"]);
    assert_eq!(texts(&[judged(&[], None)]), ["should be 1, it is *", "more"]);
    assert!(texts(&[judged(&[], Some(Network::Roce))]).is_empty());
    // It was not looked for.
    assert!(texts(&[]).is_empty());
    let outcome = Outcome::LeftOut("no time".into());
    assert!(texts(&[Played { outcome, ..played(&[]) }]).is_empty());
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, text, expected) in [
        ("", "", true),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "abc", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*c", "abc", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("ab*b", "ab", false),
        ("a**", "a", true),
        ("*b*", "abc", true),
    ] {
        assert_eq!(known::matches(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn what_any_case_may_come_upon_is_known_in_each_and_missed_in_none() {
    let text = text("acceptor", "2.2.2-14", "SmbdNegotiate_Redundancy")
        .replace("network = 'iwarp'", "network = 'iwarp'\nanywhere = ['the kernel crashed in here']");
    let profile = Profile::parse(&text).unwrap();
    let mut crashed = played(&[("", "the kernel crashed in here")]);
    profile.judge(&mut crashed);
    assert_eq!(crashed.outcome, Outcome::Known);
    let mut elsewhere = played(&[("", "the kernel crashed in there")]);
    profile.judge(&mut elsewhere);
    assert_eq!(elsewhere.outcome, Outcome::Failed, "another crash is news");
    assert!(profile.lost(&[played(&[])]).is_empty());
}
