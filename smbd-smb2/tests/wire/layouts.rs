//! Every layout is as the pictures of MS-SMB2 have it: without gaps.

use smbd_smb2::wire::{self, Layout};

/// All bodies of commands: the layout, where it begins, and where it ends.
fn bodies() -> Vec<(&'static Layout, usize, usize)> {
    use wire::*;
    let body = |layout: &'static Layout, len: usize| (layout, 64, 64 + len);
    vec![
        (&header::field::LAYOUT, 0, 64),
        (&transform::field::LAYOUT, 0, 52),
        (&compression::payload::LAYOUT, 0, 8),
        (&compression::pattern::LAYOUT, 0, 8),
        (&create_context::field::LAYOUT, 0, 16),
        (&negotiate_context::field::LAYOUT, 0, 8),
        (&negotiate_context::compression::LAYOUT, 0, 8),
        (&negotiate_context::preauth_integrity::LAYOUT, 0, 4),
        (&negotiate_context::rdma_transform::LAYOUT, 0, 8),
        (&rdma_transform::field::LAYOUT, 0, 16),
        (&rdma_transform::crypto::LAYOUT, 0, 8),
        (&lock::element::LAYOUT, 0, 24),
        (&error_response::context::LAYOUT, 0, 8),
        (&network_interface::field::LAYOUT, 0, 152),
        (&network_interface::v4::LAYOUT, 26, 40),
        (&network_interface::v6::LAYOUT, 26, 52),
        (&smb1::field::LAYOUT, 0, 35),
        body(&error_response::field::LAYOUT, 8),
        body(&negotiate::request::LAYOUT, 36),
        body(&negotiate::response::LAYOUT, 64),
        body(&session_setup::request::LAYOUT, 24),
        body(&session_setup::response::LAYOUT, 8),
        body(&logoff::request::LAYOUT, 4),
        body(&logoff::response::LAYOUT, 4),
        body(&tree_connect::request::LAYOUT, 8),
        body(&tree_connect::response::LAYOUT, 16),
        body(&tree_disconnect::request::LAYOUT, 4),
        body(&tree_disconnect::response::LAYOUT, 4),
        body(&create::request::LAYOUT, 56),
        body(&create::response::LAYOUT, 88),
        body(&close::request::LAYOUT, 24),
        body(&close::response::LAYOUT, 60),
        body(&flush::request::LAYOUT, 24),
        body(&flush::response::LAYOUT, 4),
        body(&read::request::LAYOUT, 48),
        body(&read::response::LAYOUT, 16),
        body(&write::request::LAYOUT, 48),
        body(&write::response::LAYOUT, 16),
        body(&lock::request::LAYOUT, 24),
        body(&lock::response::LAYOUT, 4),
        body(&ioctl::request::LAYOUT, 56),
        body(&ioctl::response::LAYOUT, 48),
        body(&cancel::request::LAYOUT, 4),
        body(&echo::request::LAYOUT, 4),
        body(&echo::response::LAYOUT, 4),
        body(&query_directory::request::LAYOUT, 32),
        body(&query_directory::response::LAYOUT, 8),
        body(&change_notify::request::LAYOUT, 32),
        body(&change_notify::response::LAYOUT, 8),
        body(&query_info::request::LAYOUT, 40),
        body(&query_info::response::LAYOUT, 8),
        body(&set_info::request::LAYOUT, 32),
        body(&set_info::response::LAYOUT, 2),
        body(&oplock_break::oplock::LAYOUT, 24),
        body(&oplock_break::oplock_acknowledgment::LAYOUT, 24),
        body(&oplock_break::lease_notification::LAYOUT, 44),
        body(&oplock_break::lease_acknowledgment::LAYOUT, 36),
        body(&oplock_break::lease_response::LAYOUT, 36),
        body(&notification::field::LAYOUT, 8),
    ]
}

/// All data of create contexts.
fn create_contexts() -> Vec<(&'static Layout, usize, usize)> {
    use wire::create_context;
    vec![
        (&create_context::durable::request::LAYOUT, 0, 16),
        (&create_context::durable::reconnect::LAYOUT, 0, 16),
        (&create_context::durable::response::LAYOUT, 0, 8),
        (&create_context::durable_v2::request::LAYOUT, 0, 32),
        (&create_context::durable_v2::reconnect::LAYOUT, 0, 36),
        (&create_context::durable_v2::response::LAYOUT, 0, 8),
        (&create_context::lease::request::LAYOUT, 0, 32),
        (&create_context::lease::response::LAYOUT, 0, 32),
        (&create_context::lease::request_v2::LAYOUT, 0, 52),
        (&create_context::lease::response_v2::LAYOUT, 0, 52),
        (&create_context::maximal_access::request::LAYOUT, 0, 8),
        (&create_context::maximal_access::response::LAYOUT, 0, 8),
        (&create_context::on_disk_id::response::LAYOUT, 0, 32),
    ]
}

#[test]
fn the_fields_of_every_layout_follow_each_other_without_a_gap() {
    for (layout, begin, end) in bodies().into_iter().chain(create_contexts()) {
        let mut fields: Vec<_> = layout.fields().collect();
        fields.sort_by_key(|field| field.at);
        let name = fields[0].message;
        let mut at = begin;
        for field in fields {
            assert_eq!((field.message, field.at), (name, at), "{name}: {}", field.name);
            at = field.end();
        }
        assert_eq!((at, layout.end()), (end, end), "{name}");
    }
}

#[test]
fn an_odd_structure_size_is_one_more_than_the_fixed_part_and_an_even_one_is_the_fixed_part() {
    // LOCK counts one element of 24 bytes, and NEGOTIATE Request no dialect.
    let exceptions = ["LOCK Request"];
    let sizes = [
        ("CREATE Request", wire::CreateRequest::STRUCTURE_SIZE, 56),
        ("READ Request", wire::ReadRequest::STRUCTURE_SIZE, 48),
        ("WRITE Response", wire::WriteResponse::STRUCTURE_SIZE, 16),
        ("LOCK Request", wire::LockRequest::STRUCTURE_SIZE, 24),
        ("LEASE Notification", wire::LeaseBreakNotification::STRUCTURE_SIZE, 44),
    ];
    for (name, size, len) in sizes {
        assert_eq!(size & !1 == len, !exceptions.contains(&name), "{name}");
    }
}
