//! The table of rules.

pub mod behaviour;
pub mod credits;
pub mod data;
pub mod negotiation;

/// Where a rule comes from.
///
/// Statements are named by their section of MS-SMBD (12.0) and their place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// MS-SMBD says it.
    Text {
        /// The statements.
        statements: &'static [&'static str],
    },
    /// It follows from what MS-SMBD says.
    Derived {
        /// The statements.
        statements: &'static [&'static str],
        /// How it follows.
        argument: &'static str,
    },
    /// A case of Microsoft's test suite for MS-SMBD asks for it.
    Suite {
        /// Name of the case.
        case: &'static str,
    },
    /// `docs/spec-issues.md` recommends it.
    Hardening {
        /// The issue.
        issue: &'static str,
    },
}

impl Class {
    /// Whether breaking the rule is a violation of MS-SMBD.
    #[must_use]
    pub const fn is_violation(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Derived { .. })
    }

    /// Stable lower-case name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Derived { .. } => "derived",
            Self::Suite { .. } => "suite",
            Self::Hardening { .. } => "hardening",
        }
    }

    /// Statements, case or issue the rule rests on.
    #[must_use]
    pub fn sources(&self) -> Vec<&'static str> {
        match self {
            Self::Text { statements } | Self::Derived { statements, .. } => statements.to_vec(),
            Self::Suite { case } => vec![case],
            Self::Hardening { issue } => vec![issue],
        }
    }
}

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable name.
    pub name: &'static str,
    /// Where it comes from.
    pub class: Class,
    /// The section of MS-SMBD it is about.
    pub section: &'static str,
    /// The rule in one sentence.
    pub sentence: &'static str,
}

/// All rules.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [negotiation::ALL, data::ALL, credits::ALL, behaviour::ALL].into_iter().flatten().copied()
}

/// Writes a part of the table: the rules as statics, and all of them as `ALL`.
macro_rules! rules {
    ($($id:ident = $name:literal, $section:literal, $class:expr, $sentence:literal;)+) => {
        $(
            #[doc = $sentence]
            pub static $id: Rule = Rule { name: $name, class: $class, section: $section, sentence: $sentence };
        )+
        /// The rules of this part.
        pub static ALL: &[&Rule] = &[$(&$id),+];
    };
}
use rules;

const fn text(statements: &'static [&'static str]) -> Class {
    Class::Text { statements }
}

const fn derived(statements: &'static [&'static str], argument: &'static str) -> Class {
    Class::Derived { statements, argument }
}

const fn suite(case: &'static str) -> Class {
    Class::Suite { case }
}

const fn hardening(issue: &'static str) -> Class {
    Class::Hardening { issue }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut names = BTreeSet::new();
        for rule in all() {
            assert!(rule.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.name);
            assert!(names.insert(rule.name), "{} twice", rule.name);
        }
    }

    #[test]
    fn every_rule_is_one_sentence_with_a_section_and_a_source() {
        for rule in all() {
            assert!(rule.sentence.ends_with('.') && !rule.sentence.contains(". "), "{}", rule.name);
            assert!(rule.section.starts_with(|c: char| c.is_ascii_digit()), "{}", rule.name);
            assert!(!rule.class.sources().is_empty(), "{}", rule.name);
            if let Class::Derived { argument, .. } = rule.class {
                assert!(argument.ends_with('.'), "{}", rule.name);
            }
        }
    }

    #[test]
    fn statements_and_cases_are_in_the_catalogue() {
        let catalogue = Catalogue::load().unwrap();
        let statements: BTreeSet<_> = catalogue.statements.iter().map(|one| one.id.to_string()).collect();
        for rule in all() {
            match rule.class {
                Class::Text { statements: ids } | Class::Derived { statements: ids, .. } => {
                    for id in ids {
                        assert!(statements.contains(*id), "{}: {id}", rule.name);
                    }
                }
                Class::Suite { case } => assert!(catalogue.case(case).is_some(), "{}: {case}", rule.name),
                Class::Hardening { .. } => {}
            }
        }
    }

    #[test]
    fn issues_are_in_the_list_of_issues() {
        let issues = include_str!("../../../../docs/spec-issues.md");
        for rule in all() {
            if let Class::Hardening { issue } = rule.class {
                assert!(issues.contains(&format!("### {issue}:")), "{}: {issue}", rule.name);
            }
        }
    }
}
