//! Negotiation with what is known of real implementations: the sizes that come out of it.

use smbd_core::wire::{NegotiateRequest, NegotiateResponse};
use smbd_core::{Params, PhaseName};

use crate::pair::{ACCEPTOR, INITIATOR, Pair, REQUEST, RESPONSE, Side};

/// MaxSendSize, MaxReceiveSize, MaxFragmentedSendSize, MaxFragmentedRecvSize, MaxReadWriteSize.
fn sizes(side: &Side) -> [u32; 5] {
    assert_eq!(side.connection.phase(), PhaseName::Established, "{}", side.end());
    let settled = side.connection.negotiated().unwrap();
    [
        settled.max_send_size,
        settled.max_receive_size,
        settled.max_fragmented_send_size,
        settled.max_fragmented_recv_size,
        settled.max_read_write_size,
    ]
}

const MIB: u32 = 1 << 20;

#[test]
fn the_cifs_client_of_linux_6_12() {
    let message = NegotiateRequest {
        credits_requested: 255,
        preferred_send_size: 1364,
        max_receive_size: 1364,
        max_fragmented_size: 173_910,
        ..REQUEST
    };
    let side = Side::accepted(Params::windows(), &message);
    assert_eq!(sizes(&side), [1364, 1364, 173_910, MIB, 8 * MIB]);
    assert_eq!(side.connection.credits().outstanding(), 255);
}

#[test]
fn the_ksmbd_server_of_linux_6_12() {
    let message = NegotiateResponse {
        credits_requested: 255,
        credits_granted: 254,
        max_read_write_size: 8 * MIB,
        preferred_send_size: 1364,
        max_receive_size: 1364,
        max_fragmented_size: 173_910,
        ..RESPONSE
    };
    let side = Side::initiated(Params::windows(), &message);
    assert_eq!(sizes(&side), [1364, 1364, 173_910, MIB, 8 * MIB]);
    // The empty message that grants comes at once: the acceptor has nothing to send with before it.
    assert_eq!(side.data_headers().len(), 1);
    assert_eq!(side.last_header().credits_granted, 255);
    assert_eq!(side.connection.credits().send(), 253);
}

#[test]
fn ksmbd_takes_what_the_profiles_offer() {
    // It refuses MaxReceiveSize 128 and MaxFragmentedSize 131072, both legal.
    for params in [Params::windows(), Params::linux_client()] {
        assert!(params.max_receive_size > 128);
        assert!(params.max_fragmented_recv_size > 131_072);
        // Below 1029 it would answer with an illegal MaxFragmentedSize (NE-5).
        assert!(params.max_send_size >= 1029);
    }
}

#[test]
fn windows() {
    let request = NegotiateRequest {
        credits_requested: 255,
        preferred_send_size: 1364,
        max_receive_size: 8192,
        max_fragmented_size: MIB,
        ..REQUEST
    };
    let side = Side::accepted(Params::windows(), &request);
    assert_eq!(sizes(&side), [1364, 1364, MIB, MIB, 8 * MIB]);
    let response = NegotiateResponse {
        credits_requested: 255,
        credits_granted: 191,
        max_read_write_size: 8 * MIB,
        preferred_send_size: 1364,
        max_receive_size: 8192,
        max_fragmented_size: MIB,
        ..RESPONSE
    };
    let side = Side::initiated(Params::windows(), &response);
    assert_eq!(sizes(&side), [1364, 1364, MIB, MIB, 8 * MIB]);
}

#[test]
fn smb_rs() {
    let message = NegotiateRequest {
        credits_requested: 255,
        preferred_send_size: 1024,
        max_receive_size: 1024,
        max_fragmented_size: 262_144,
        ..REQUEST
    };
    let side = Side::accepted(Params::windows(), &message);
    assert_eq!(sizes(&side), [1024, 1024, 262_144, MIB, 8 * MIB]);
}

#[test]
fn every_profile_gets_along_with_every_other() {
    let profiles = [Params::windows, Params::linux_client, Params::linux_server, Params::example];
    for initiator in profiles {
        for acceptor in profiles {
            let mut pair = Pair::established(initiator(), acceptor());
            let [a, b] = [sizes(&pair.sides[INITIATOR]), sizes(&pair.sides[ACCEPTOR])];
            assert_eq!((a[0], a[2]), (b[1], b[3]), "what one sends the other takes");
            assert_eq!((a[1], a[3]), (b[0], b[2]));
            assert!(a[4] <= b[4]);
            pair.send(INITIATOR, a[2]);
            pair.send(ACCEPTOR, b[2]);
            pair.run();
            for (index, sizes) in [(ACCEPTOR, a), (INITIATOR, b)] {
                let got: u64 = pair.sides[index].data.iter().map(|(_, len, _)| u64::from(*len)).sum();
                assert_eq!(got, u64::from(sizes[2]));
            }
        }
    }
}
