//! QUERY_DIRECTORY.

use smbd_smb2::wire::{
    DirectoryInformationClass, NtStatus, QueryDirectoryFlags, QueryDirectoryRequest, QueryDirectoryResponse,
};

use super::files::ROOT;
use super::record::{entry, is_entry_class};
use super::request::{Reply, Request};
use super::state::{Failed, Scan, State};

/// What entries begin at a multiple of (MS-FSCC 2.4).
const ALIGNMENT: usize = 8;

/// 3.3.5.18
pub(super) fn query(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let query = QueryDirectoryRequest::parse(request.bytes)?;
    let file = request.file(query.file_id)?;
    let number = state.open(&request.header, file)?.number;
    let class = query.information_class;
    if number != ROOT || query.output_buffer_length > state.options.max_transact {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    state.pays(&request.header, query.output_buffer_length)?;
    if !is_entry_class(class) {
        return Err(NtStatus::INVALID_INFO_CLASS.into());
    }
    let again = [QueryDirectoryFlags::RESTART_SCANS, QueryDirectoryFlags::REOPEN];
    let again = again.into_iter().any(|flag| query.flags.contains(flag));
    let begun = state.open(&request.header, file)?.scan.take().filter(|_| !again);
    let is_new = begun.is_none();
    let mut scan =
        begun.unwrap_or_else(|| Scan { entries: entries(state, &query.pattern.to_string()), told: 0 });
    let is_single = query.flags.contains(QueryDirectoryFlags::RETURN_SINGLE_ENTRY);
    let told = tell(state, &mut scan, class, (query.output_buffer_length as usize, is_single));
    let has_more = scan.told < scan.entries.len();
    state.open(&request.header, file)?.scan = Some(scan);
    if told.is_empty() {
        return Err(match (has_more, is_new) {
            (true, _) => NtStatus::INFO_LENGTH_MISMATCH,
            (false, true) => NtStatus::NO_SUCH_FILE,
            (false, false) => NtStatus::NO_MORE_FILES,
        }
        .into());
    }
    Ok(request.done(&QueryDirectoryResponse { output: &told })?.about(file))
}

/// All entries of the folder whose names match.
fn entries(state: &State, pattern: &str) -> Vec<(String, u64)> {
    let names = [".", ".."].into_iter().chain(state.files.names());
    names
        .filter(|name| pattern.is_empty() || matches(pattern, name))
        .map(|name| (name.to_owned(), state.files.find(name).unwrap_or(ROOT)))
        .collect()
}

/// The next entries, as many as there is room for. Those that have gone are left out.
fn tell(
    state: &State,
    scan: &mut Scan,
    class: DirectoryInformationClass,
    (room, is_single): (usize, bool),
) -> Vec<u8> {
    let mut told = Vec::new();
    let mut last = None;
    while let Some((name, number)) = scan.entries.get(scan.told) {
        if let Some(facts) = state.files.facts(*number) {
            let next = entry(class, &facts, name);
            let start = told.len().next_multiple_of(ALIGNMENT);
            if start.saturating_add(next.len()) > room || is_single && last.is_some() {
                break;
            }
            if let Some(last) = last.replace(start) {
                link(&mut told, last, start);
            }
            told.resize(start, 0);
            told.extend(next);
        }
        scan.told = scan.told.saturating_add(1);
    }
    told
}

/// Says in an entry where the next one is.
fn link(told: &mut [u8], last: usize, next: usize) {
    if let Some(offset) = told.get_mut(last..).and_then(<[u8]>::first_chunk_mut) {
        *offset = u32::try_from(next.saturating_sub(last)).unwrap_or(0).to_le_bytes();
    }
}

/// Whether a name matches a pattern with `*` for any characters and `?` for one (MS-FSCC 2.1.4.3).
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0_usize, 0_usize);
    // Where to go on if the rest does not match: behind the last star, one character of the name further.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p.saturating_add(1), n));
                p = p.saturating_add(1);
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                p = p.saturating_add(1);
                n = n.saturating_add(1);
            }
            _ => {
                let Some((behind, from)) = star else { return false };
                (p, n) = (behind, from.saturating_add(1));
                star = Some((p, n));
            }
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_a_question_mark_for_one() {
        for (pattern, name) in
            [("*", ""), ("*", "a.b"), ("a*", "a"), ("a?c", "abc"), ("*b*d", "abbcbd"), ("*.*", "a.b")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "b"), ("a?", "a"), ("*b", "ba"), ("", "a"), ("a*c", "acb"), ("?", "")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
