//! The catalogue against an implementation with SMB2 as its upper layer: the same cases, and nothing to find.

use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::SimSmb2;
use smbd_conformance::suite::{Choice, Options, Outcome, SIDES, Upper, Uppers, cases, detect, play};

#[test]
fn the_core_passes_every_case_with_smb2_on_top() {
    let catalogue = Catalogue::load().unwrap();
    let choice = Choice { echo: true, smb2: true, share: Some(r"\\subject\share".into()) };
    let (mut failed, mut played, mut not) = (Vec::new(), 0, Vec::new());
    for role in SIDES {
        let upper = detect(&mut SimSmb2, role, &choice);
        println!("{role}: {upper}");
        assert!(matches!(upper, Upper::Server(_) | Upper::Client(_)), "{upper}");
        let options = Options { uppers: Uppers::default().with(role, upper), ..Options::default() };
        for case in catalogue.cases.iter().filter(|case| case.role.includes(role)) {
            let entry = cases::find(&case.name).unwrap();
            for variant in 0..2.min(SimSmb2.variants().len()) {
                let result = play(&mut SimSmb2, variant, (case, entry), role, &options);
                match result.outcome {
                    Outcome::Passed => played += 1,
                    Outcome::NotApplicable(why) => not.push(format!("{} {role}: {why}", case.name)),
                    other => failed.push(format!(
                        "{} {role} {variant}: {other} {:?}",
                        case.name,
                        result.findings.iter().map(|f| f.text.clone()).take(2).collect::<Vec<_>>()
                    )),
                }
            }
        }
    }
    println!("{played} played\n{}", not.join("\n"));
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}
