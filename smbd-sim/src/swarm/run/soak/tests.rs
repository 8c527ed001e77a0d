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

/// Counted as it is allocated: what the system says of a process has in it what the allocator keeps.
#[test]
fn allocations_do_not_grow_in_number_with_time_and_all_are_given_back() {
    for (personality, profile) in [(NETWORKS[0], Profile::Windows), (NETWORKS[1], Profile::Random)] {
        let [short, long] = [4 * HOUR, 16 * HOUR].map(|time| {
            let play = |time| loaded(&Loaded { seed: 1, profile, personality, time }, &|_| ());
            // What a process makes once and keeps.
            play(MINUTE);
            allocation_counter::measure(|| assert_eq!(play(time).failure, None))
        });
        assert_eq!([short.bytes_current, long.bytes_current], [0; 2], "{profile:?}");
        // Four times the time, for one in twenty more at a time.
        assert!(long.count_max <= short.count_max + short.count_max / 20, "{short:?} {long:?}");
    }
}
