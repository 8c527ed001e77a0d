use std::time::Duration;

use super::{Idle, Loaded, Stock, idle, loaded};
use crate::nic::Personality;
use crate::swarm::Profile;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const NETWORKS: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

#[test]
fn an_idle_pair_says_what_its_intervals_demand_and_not_a_message_more() {
    for personality in NETWORKS {
        for (intervals, expected) in [
            ([Some(2 * MINUTE), None], 30),
            ([None, Some(2 * MINUTE)], 30),
            ([Some(2 * MINUTE), Some(2 * MINUTE)], 30),
            ([Some(2 * MINUTE), Some(MINUTE)], 60),
            ([None, None], 0),
        ] {
            let soaked = idle(&Idle { personality, intervals, time: HOUR }).expect("valid");
            assert_eq!(soaked.failure, None, "{intervals:?}");
            assert_eq!(soaked.sent, [expected; 2], "{intervals:?}");
            assert_eq!(soaked.in_use, [Stock::default(); 2]);
        }
    }
}

#[test]
fn a_time_that_is_no_multiple_of_the_interval_has_the_probes_that_fit() {
    let minute = Duration::from_secs(60);
    for (seconds, probes) in [(29, 0), (36, 1), (60, 1), (95, 2)] {
        for intervals in [[Some(minute); 2], [Some(2 * minute), Some(minute)]] {
            let what =
                Idle { personality: Personality::Iwarp, intervals, time: Duration::from_secs(seconds) };
            assert_eq!(what.probes(), probes, "{seconds} s");
            let soaked = idle(&what).unwrap();
            assert_eq!(soaked.failure, None, "{seconds} s, {intervals:?}");
        }
    }
}

#[test]
fn after_hours_of_work_and_faults_all_is_as_it_was() {
    for personality in NETWORKS {
        for (seed, profile) in [(1, Profile::Windows), (2, Profile::Example), (3, Profile::Random)] {
            let what = Loaded { seed, profile, personality, time: 4 * HOUR };
            let soaked = loaded(&what, &|_| ());
            assert_eq!(soaked.failure, None, "{what:?}");
            assert_eq!(soaked.in_use, [Stock::default(); 2]);
            assert!(soaked.time >= what.time);
            assert!(soaked.connections > 5 && soaked.faults > 5, "{soaked:?}");
            assert!(soaked.carried.messages > 5000 && soaked.carried.operations > 200, "{soaked:?}");
        }
    }
}

/// Plays a pair and counts its allocations as they are made: what the system says of a process has in it what the allocator
/// keeps.
fn counted(personality: Personality, profile: Profile, time: Duration) -> allocation_counter::AllocationInfo {
    let play = |time| loaded(&Loaded { seed: 1, profile, personality, time }, &|_| ());
    // What a process makes once and keeps.
    play(MINUTE);
    allocation_counter::measure(|| assert_eq!(play(time).failure, None))
}

#[test]
fn every_pair_gives_back_all_it_has_allocated() {
    for personality in NETWORKS {
        for profile in [Profile::Windows, Profile::LinuxClient, Profile::Example, Profile::Random] {
            let counted = counted(personality, profile, 4 * HOUR);
            assert_eq!(counted.bytes_current, 0, "{personality:?} {profile:?}: {counted:?}");
        }
    }
}

#[test]
fn there_are_no_more_allocations_at_a_time_the_longer_it_takes() {
    for (personality, profile) in [(NETWORKS[0], Profile::Windows), (NETWORKS[1], Profile::Random)] {
        let [short, long] = [4 * HOUR, 16 * HOUR].map(|time| counted(personality, profile, time));
        // Four times the time, for one in eight more at a time.
        assert!(long.count_max <= short.count_max + short.count_max / 8, "{short:?} {long:?}");
    }
}
