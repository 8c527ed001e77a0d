//! Sections, parameters and included files.

use std::io;
use std::path::Path;

use super::lines::{is_space, lines};
use super::values::{boolean, folded};
use super::{Elsewhere, Section, Setting, SmbConf};
use smbd_daemon::finding::Place;

/// How deep Samba includes files in each other.
const DEPTH_MAX: u32 = 100;
/// Files that are read. Samba has no such limit, but two lines can include each other's file 2^100 times.
const FILES_MAX: u32 = 1000;

/// Reads a file.
pub(super) fn read(
    path: &Path,
    text: &str,
    included: &mut dyn FnMut(&Path) -> io::Result<String>,
) -> SmbConf {
    let mut reader = Reader { conf: SmbConf::default(), share: None, included, depth: 0, files: 0 };
    reader.conf.global.name = "global".to_owned();
    reader.file(path, text);
    reader.conf
}

struct Reader<'a> {
    conf: SmbConf,
    /// The share whose parameters come; `[global]` if there is none. An included file goes on with it, and what it leaves is what its
    /// includer goes on with.
    share: Option<usize>,
    included: &'a mut dyn FnMut(&Path) -> io::Result<String>,
    depth: u32,
    files: u32,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, text: &str) {
        self.files = self.files.saturating_add(1);
        for line in lines(text) {
            self.conf.has_lines = true;
            let place = Place { file: path.to_owned(), line: line.number };
            let is_understood = match line.text.strip_prefix('[') {
                Some(section) => self.section(section),
                None => self.parameter(&line.text, &place),
            };
            if !is_understood {
                self.conf.refused.get_or_insert(place);
            }
            // What an included file breaks off is broken off here, too.
            if self.conf.refused.is_some() {
                return;
            }
        }
    }

    /// Whether the line can be understood.
    fn section(&mut self, behind_bracket: &str) -> bool {
        let Some((name, _)) = behind_bracket.split_once(']') else { return false };
        self.conf.has_section = true;
        if ["global", "globals"].contains(&folded(name).as_str()) {
            self.share = None;
            return true;
        }
        let name = name.trim_matches(is_space);
        if name.is_empty() {
            return false;
        }
        let known = self.share_of(name).unwrap_or_else(|| {
            self.conf.shares.push(Section::new(name));
            self.conf.shares.len().saturating_sub(1)
        });
        self.share = Some(known);
        true
    }

    fn share_of(&self, name: &str) -> Option<usize> {
        self.conf.shares.iter().position(|share| folded(&share.name) == folded(name))
    }

    /// Whether the line can be understood. One without an equals sign is passed over.
    fn parameter(&mut self, line: &str, place: &Place) -> bool {
        let Some((name, value)) = line.split_once('=') else { return true };
        let (name, value) = (name.trim_matches(is_space), value.trim_matches(is_space));
        if name.is_empty() {
            return false;
        }
        match folded(name).as_str() {
            "include" => self.include(value, place),
            "copy" => return self.copy(value),
            "configfile" => self.elsewhere(name, value, place),
            "configbackend" if folded(value) == "registry" => self.elsewhere(name, value, place),
            "registryshares" if boolean(value) == Some(true) => self.elsewhere(name, value, place),
            _ => {
                let (text, place) = (value.to_owned(), place.clone());
                self.section_mut().set(name, Setting { name: name.to_owned(), text, place });
            }
        }
        true
    }

    fn section_mut(&mut self) -> &mut Section {
        let SmbConf { global, shares, .. } = &mut self.conf;
        match self.share {
            Some(share) => shares.get_mut(share).unwrap_or(global),
            None => global,
        }
    }

    fn elsewhere(&mut self, parameter: &str, value: &str, place: &Place) {
        let (parameter, value) = (parameter.to_owned(), value.to_owned());
        self.conf.elsewhere.push(Elsewhere { parameter, value, place: place.clone() });
    }

    fn include(&mut self, value: &str, place: &Place) {
        let value = value.trim_matches('"');
        // A macro stands for something of each client; a path that is not absolute begins where Samba runs.
        let is_known = !value.contains('%') && Path::new(value).is_absolute();
        if !is_known || self.depth >= DEPTH_MAX || self.files >= FILES_MAX {
            return self.elsewhere("include", value, place);
        }
        let path = Path::new(value);
        match (self.included)(path) {
            Ok(text) => {
                self.depth = self.depth.saturating_add(1);
                self.file(path, &text);
                self.depth = self.depth.saturating_sub(1);
            }
            // Samba passes over it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.elsewhere("include", value, place),
        }
    }

    /// Whether there is such a share, and it is another one.
    fn copy(&mut self, value: &str) -> bool {
        let Some(share) = self.share else { return true };
        let other = self.share_of(value).filter(|other| *other != share);
        let other = other.and_then(|other| self.conf.shares.get(other)).cloned();
        let is_there = other.is_some();
        if let Some(other) = other {
            self.section_mut().copy(&other);
        }
        is_there
    }
}
