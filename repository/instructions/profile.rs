//! What callgrind writes about functions.

/// Instructions in functions whose name contains `part`, with what they call. None of them calls another one.
pub(super) fn inside(profile: &str, part: &str) -> u64 {
    let (mut names, mut counts, mut sum) = (Vec::new(), false, 0);
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            // A name is written out where its number comes first.
            let (number, text) = name.split_once(' ').unwrap_or((name, ""));
            if text.contains(part) {
                names.push(number);
            }
            if line.starts_with("fn=") {
                counts = names.contains(&number);
            }
        } else if counts && line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // A place, and instructions: its own, or those of the call in the line before.
            sum += line.split_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

/// Instructions in all functions.
pub(super) fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{inside, total};

    const PROFILE: &str = "\
events: Ir
fn=(1) program::scenes::measured::turn
10 5
cfn=(2) program::scenes::hardware::post
calls=1 20
+3 100
fn=(2)
20 40
cfn=(3) memcpy
calls=1 0
* 60
fn=(3)
1 60

totals: 105
";

    #[test]
    fn a_function_counts_with_what_it_calls_and_without_its_callers() {
        assert_eq!(inside(PROFILE, "scenes::hardware::"), 100);
        assert_eq!(inside(PROFILE, "scenes::nothing::"), 0);
    }

    #[test]
    fn all_instructions_are_those_of_the_last_line() {
        assert_eq!(total(PROFILE), Some(105));
        assert_eq!(total("events: Ir"), None);
    }
}
