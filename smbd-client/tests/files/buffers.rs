//! Memory of the caller's.

use smbd_client::{Buffer, Error, PIECE_MAX, Remote, Settings, Share, Way};
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_smb2::client::Protection;
use smbd_smb2::security::RdmaTransforms;

use super::loopback::{Loopback, copied};
use super::server::{Host, PASSWORD, content, login, settings};

/// Over RDMA.
async fn rdma(host: &Host, settings: &Settings) -> Share {
    let (remote, driver) = Remote::over(Loopback::new(host).0, settings).unwrap();
    tokio::spawn(driver);
    login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap()
}

fn bytes(buffer: &Buffer, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

/// Writes so many bytes and reads them again. Returns how many bytes were copied meanwhile between the device's memory and other.
async fn round_trip(share: &Share, len: u32) -> usize {
    let [from, to] = [share.buffer(len).await.unwrap(), share.buffer(len).await.unwrap()];
    let data = content(len as usize);
    from.fill(0, &data).unwrap();
    let file = share.create("f").await.unwrap();
    let before = copied();
    assert_eq!(file.write_from(10, &from, len).await, Ok(len.into()));
    assert_eq!(file.read_into(10, &to, len).await, Ok(len));
    let copied = copied() - before;
    assert!(bytes(&to, len as usize) == data, "{len} bytes");
    file.close().await.unwrap();
    copied
}

#[tokio::test]
async fn by_rdma_nothing_is_copied_and_otherwise_once() {
    let host = Host::new(|_| {});
    let share = rdma(&host, &settings()).await;
    assert_eq!(share.way(), Way::Rdma(Protection::None));
    for len in [4097, 65_537, PIECE_MAX] {
        assert_eq!(round_trip(&share, len).await, 0, "{len} bytes");
    }
    // So few go in messages.
    assert_eq!(round_trip(&share, 100).await, 2 * 100);

    let share =
        rdma(&host, &Settings { sign: true, rdma_transforms: RdmaTransforms::NONE, ..settings() }).await;
    assert_eq!(share.way(), Way::RdmaMessages(Protection::Signed));
    assert_eq!(round_trip(&share, 65_537).await, 2 * 65_537);

    let share = rdma(&host, &Settings { rdma_threshold: None, ..settings() }).await;
    assert_eq!(share.way(), Way::RdmaMessages(Protection::None));
    assert_eq!(round_trip(&share, PIECE_MAX).await, 2 * PIECE_MAX as usize);

    let (share, _driver) = host.share(&settings(), "data").await.unwrap();
    assert_eq!(share.way(), Way::Tcp(Protection::None));
    for len in [1, 65_537, PIECE_MAX] {
        round_trip(&share, len).await;
    }
}

#[tokio::test]
async fn at_the_end_of_a_file_fewer_bytes_come_and_what_is_behind_them_stays() {
    let host = Host::new(|_| {});
    for share in [rdma(&host, &settings()).await, host.share(&settings(), "data").await.unwrap().0] {
        let file = share.create("f").await.unwrap();
        file.write_at(0, content(10_000).into()).await.unwrap();
        let buffer = share.buffer(8192).await.unwrap();
        buffer.fill(0, &[7; 8192]).unwrap();
        assert_eq!(file.read_into(4000, &buffer, u32::MAX).await, Ok(6000), "{}", share.way());
        assert!(bytes(&buffer, 6000) == content(10_000)[4000..]);
        assert_eq!(bytes(&buffer, 8192)[6000..], [7; 2192]);
        assert_eq!(file.read_into(10_000, &buffer, 8192).await, Ok(0));
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn buffers_have_a_length_a_number_and_an_end() {
    let share = rdma(&Host::new(|_| {}), &settings()).await;
    for len in [0, PIECE_MAX + 1] {
        let none = share.buffer(len).await.unwrap_err();
        assert_eq!(none, Error::Memory(OutOfMemory { len }));
    }
    let mut all = Vec::new();
    for _ in 0..1024 {
        all.push(share.buffer(1).await.unwrap());
    }
    assert!(share.buffer(1).await.is_err());
    all.pop();
    let one = share.buffer(9).await.unwrap();
    assert_eq!(one.len(), 9);
    let outside = OutOfRange { offset: 8, len: 2, size: 9 };
    assert_eq!((one.fill(8, &[1, 2]), one.read(8, &mut [0; 2])), (Err(outside), Err(outside)));
}
