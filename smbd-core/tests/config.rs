//! Configurations are valid or do not exist.

use std::time::Duration;

use smbd_core::{Config, ConfigError, Connection, Instant, Keepalive, Params, Role};

fn error(params: Params) -> ConfigError {
    Config::try_from(params).unwrap_err()
}

fn good(params: Params) {
    Config::try_from(params).unwrap();
}

#[test]
fn the_profiles_are_valid() {
    for params in [Params::windows(), Params::linux_client(), Params::linux_server(), Params::example()] {
        let config = Config::try_from(params.clone()).unwrap();
        assert_eq!(*config, params);
    }
}

#[test]
fn profiles_carry_the_numbers_of_their_models() {
    let windows = Params::windows();
    assert_eq!((windows.receive_credit_max, windows.send_credit_target), (255, 255));
    assert_eq!((windows.max_send_size, windows.max_receive_size), (1364, 8192));
    assert_eq!((windows.max_fragmented_recv_size, windows.max_read_write_size), (1_048_576, 8_388_608));
    let (minutes, seconds) = (Duration::from_secs(120), Duration::from_secs(5));
    assert_eq!(windows.keepalive, Some(Keepalive { interval: minutes, answer_timeout: seconds }));
    assert_eq!((windows.active_negotiation_timeout, windows.passive_negotiation_timeout), (minutes, seconds));
    assert_eq!(windows.send_credit_timeout, Some(seconds));
    let cifs = Params::linux_client();
    assert_eq!(
        (cifs.max_send_size, cifs.max_receive_size, cifs.max_fragmented_recv_size),
        (1364, 1364, 173_910)
    );
    let longest = Some(Duration::from_secs(125));
    assert_eq!(cifs.send_credit_timeout, longest);
    let ksmbd = Params::linux_server();
    assert_eq!((ksmbd.keepalive, ksmbd.passive_negotiation_timeout), (None, minutes));
    assert_eq!(ksmbd.send_credit_timeout, None);
    let example = Params::example();
    assert_eq!(example.send_credit_timeout, longest);
    assert_eq!((example.receive_credit_max, example.max_receive_size), (10, 1024));
    assert_eq!(example.max_fragmented_recv_size, 131_072);
}

#[test]
fn each_parameter_at_its_boundaries() {
    macro_rules! check {
        ($field:ident, $min:expr, $max:expr, below: $($below:expr)?, above: $($above:expr)?) => {
            for value in [$min, $max] {
                good(Params { $field: value, ..Params::example() });
            }
            for value in [$($below,)? $($above)?] {
                let refused = error(Params { $field: value, ..Params::example() });
                assert_eq!((refused.field, refused.value), (stringify!($field), u64::from(value)));
                assert_eq!((refused.min, refused.max), (u64::from($min), u64::from($max)));
            }
        };
    }
    check!(receive_credit_max, 4_u16, 32_767_u16, below: 3, above: 32_768);
    check!(send_credit_target, 2_u16, 255_u16, below: 1, above: 256);
    check!(max_send_size, 128_u32, 8136_u32, below: 127, above: 8137);
    check!(max_receive_size, 128_u32, 524_280_u32, below: 127, above: 524_281);
    check!(max_fragmented_recv_size, 131_072_u32, u32::MAX, below: 131_071, above:);
    check!(borrowed_max, 0_u16, 32_767_u16, below:, above: 32_768);
    check!(message_slots, 1_u16, 32_767_u16, below: 0, above: 32_768);
    check!(send_slots, 2_u16, 32_767_u16, below: 1, above: 32_768);
    check!(rdma_slots, 1_u16, 32_767_u16, below: 0, above: 32_768);
    check!(rdma_ops, 0_u16, 32_767_u16, below:, above: 32_768);
    check!(registrations, 0_u16, 32_767_u16, below:, above: 32_768);
    check!(segments_max, 1_u16, 32_767_u16, below: 0, above: 32_768);
    check!(registration_slots, 0_u16, 32_767_u16, below:, above: 32_768);
}

#[test]
fn large_sends_have_to_be_asked_for() {
    let large = Params { max_send_size: u32::MAX, ..Params::example() };
    assert_eq!(error(large.clone()).max, 8136);
    good(Params { large_sends: true, ..large });
}

#[test]
fn tables_for_what_is_not_used_may_be_empty() {
    good(Params { rdma_ops: 0, rdma_slots: 0, registrations: 0, segments_max: 0, ..Params::example() });
}

#[test]
fn timers_of_zero_are_refused() {
    let zero = Duration::ZERO;
    let one = Duration::from_nanos(1);
    let keepalive = |interval, answer_timeout| Params {
        keepalive: Some(Keepalive { interval, answer_timeout }),
        ..Params::example()
    };
    for (params, field) in [
        (keepalive(zero, one), "keepalive.interval"),
        (keepalive(one, zero), "keepalive.answer_timeout"),
        (Params { active_negotiation_timeout: zero, ..Params::example() }, "active_negotiation_timeout"),
        (Params { passive_negotiation_timeout: zero, ..Params::example() }, "passive_negotiation_timeout"),
        (Params { send_credit_timeout: Some(zero), ..Params::example() }, "send_credit_timeout"),
    ] {
        assert_eq!(error(params).field, field, "KA-7");
    }
    good(keepalive(one, one));
    good(keepalive(Duration::MAX, Duration::MAX));
}

#[test]
fn an_error_names_the_field_the_value_the_range_and_the_reason() {
    let text = error(Params { send_credit_target: 1, ..Params::example() }).to_string();
    insta::assert_snapshot!(text, @"send_credit_target is 1, must be 2 to 255 (spec-issues CR-12)");
}

#[test]
fn a_budget_adds_up() {
    let config = Config::try_from(Params::example()).unwrap();
    let mut budget = config.budget();
    budget.core_bytes = 0;
    // 10 credits, one in reserve, 2 borrowed; 16 sends, 4 requests, 8 windows.
    insta::assert_debug_snapshot!(budget, @r"
    Budget {
        recv_slots: 13,
        recv_buffer_len: 1024,
        recv_bytes: 13312,
        send_slots: 16,
        send_head_bytes: 512,
        send_buffer_len: 1024,
        rdma_slots: 4,
        read_depth: 4,
        rdma_ops: 4,
        registrations: 4,
        recv_queue: 11,
        send_queue: 28,
        cq_entries: 39,
        core_bytes: 0,
    }
    ");
    let small = Config::try_from(Params { max_receive_size: 128, ..Params::example() }).unwrap();
    assert_eq!(small.budget().recv_buffer_len, 512, "the negotiation needs it");
}

#[test]
fn the_largest_configuration_can_be_made() {
    let params = Params {
        receive_credit_max: 32_767,
        borrowed_max: 32_767,
        message_slots: 32_767,
        send_slots: 32_767,
        rdma_ops: 32_767,
        rdma_slots: 32_767,
        read_depth: u16::MAX,
        registrations: 32_767,
        segments_max: 32_767,
        registration_slots: 32_767,
        keepalive: Some(Keepalive { interval: Duration::MAX, answer_timeout: Duration::MAX }),
        ..Params::windows()
    };
    let config = Config::try_from(params).unwrap();
    assert_eq!(config.budget().recv_slots, 65_535);
    let connection = Connection::new(Role::Acceptor, &config, Instant::from_nanos(u64::MAX));
    assert_eq!(connection.limits().send_queue, u16::MAX);
}
