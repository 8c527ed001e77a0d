use std::sync::Arc;

use smbd_smb2::server::SharePath;
use smbd_smb2::wire::Text;

use super::super::capitals::Capitals;
use super::super::lookup::Lookup;
use super::Rig;

/// More files than are looked at for each name.
fn large() -> Rig {
    let rig = Rig::new();
    for at in 0..1100 {
        rig.write(&format!("File{at}"), b"");
    }
    rig
}

/// What is found by a look: none if the directory would have to be read.
fn found(lookup: &Lookup, name: &str, reads: bool) -> Option<String> {
    let path = SharePath::parse(Text::from(name)).unwrap();
    let looked_up = lookup.look_up(&path, reads).unwrap()?;
    looked_up.place.unwrap().name.into_string().ok()
}

#[test]
fn a_large_directory_is_read_only_if_it_may_be() {
    let mut rig = large();
    let lookup = rig.folder.lookup();
    assert_eq!(found(&lookup, "fILE7", false), None);
    assert_eq!(found(&lookup, "File7", false).as_deref(), Some("File7"));
    assert_eq!(found(&lookup, "fILE7", true).as_deref(), Some("File7"));
    // Few names are always looked at.
    let directory = rig.make_directory("few").unwrap();
    rig.write("few/Name", b"");
    assert_eq!(found(&rig.folder.lookup(), "few\\nAME", false).as_deref(), Some("Name"));
    rig.close(directory);
}

#[test]
fn all_looks_that_began_before_a_directory_is_read_share_what_was_read_and_later_ones_do_not() {
    let rig = large();
    let before = [rig.folder.lookup(), rig.folder.lookup()];
    assert_eq!(found(&before[0], "file7", true).as_deref(), Some("File7"));
    assert_eq!(found(&before[1], "FILE8", false).as_deref(), Some("File8"));
    // Names may have come meanwhile, at the same time by the clock of the file system.
    assert_eq!(found(&rig.folder.lookup(), "FILE8", false), None);
}

#[test]
fn a_directory_that_has_not_changed_is_not_read_again_and_one_that_has_is() {
    let rig = large();
    // The directory was changed long ago.
    let capitals = Arc::new(Capitals::with(|| 1 << 40));
    let lookup = || {
        let since = capitals.begin();
        Lookup { capitals: Some(Arc::clone(&capitals)), since, ..rig.folder.lookup() }
    };
    assert_eq!(found(&lookup(), "file7", true).as_deref(), Some("File7"));
    assert_eq!(found(&lookup(), "none", false).as_deref(), Some("none"));
    assert_eq!(found(&lookup(), "fILE9", false).as_deref(), Some("File9"));
    rig.write("None", b"");
    assert_eq!(found(&lookup(), "none", false), None);
    assert_eq!(found(&lookup(), "none", true).as_deref(), Some("None"));
}

#[test]
fn the_first_by_its_bytes_is_found_of_names_in_all_alphabets() {
    let rig = large();
    for name in ["Stra\u{DF}e", "\u{C9}T\u{C9}", "\u{C9}t\u{E9}", "ab", "aB", "Ab"] {
        rig.write(name, b"");
    }
    let lookup = rig.folder.lookup();
    for (name, there) in
        [("AB", "Ab"), ("\u{E9}t\u{E9}", "\u{C9}T\u{C9}"), ("stra\u{DF}E", "Stra\u{DF}e"), ("x", "x")]
    {
        assert_eq!(found(&lookup, name, true).as_deref(), Some(there), "{name}");
    }
}
