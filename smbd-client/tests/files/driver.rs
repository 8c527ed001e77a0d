//! The driver over a transport that writes down what is asked of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use smbd_client::Tcp;
use smbd_client::{Error, Remote, Settings, Share, Way};
use smbd_core::Access;
use smbd_smb2::client::Protection;
use smbd_smb2::wire::Command;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::Instant;

use super::loopback::{Event, Loopback, Seen};
use super::server::{Host, PASSWORD, content, login, settings};

async fn share(host: &Host, settings: &Settings) -> Result<(Share, Arc<Mutex<Seen>>, JoinHandle<()>), Error> {
    let (loopback, seen) = Loopback::new(host);
    let (remote, driver) = Remote::over(loopback, settings).unwrap();
    let driver = tokio::spawn(driver);
    let share = login(&remote, PASSWORD).await?.connect("data").await?;
    Ok((share, seen, driver))
}

#[tokio::test]
async fn memory_is_registered_before_its_request_and_back_before_its_result() {
    let host = Host::new(|_| {});
    let (share, seen, _driver) = share(&host, &settings()).await.unwrap();
    assert_eq!(share.way(), Way::Rdma(Protection::None));
    let data = Bytes::from(content(500_000));
    let file = share.create("f").await.unwrap();
    seen.lock().unwrap().journal.clear();
    file.write_at(0, data.clone()).await.unwrap();
    let journal = std::mem::take(&mut seen.lock().unwrap().journal);
    let [
        Event::Register(written, Access::Read),
        Event::Send(Command::WRITE),
        Event::Invalidate,
        Event::Deregister(back),
    ] = journal[..]
    else {
        panic!("{journal:?}")
    };
    assert_eq!(written, back);
    file.close().await.unwrap();

    let file = share.open("f").await.unwrap();
    seen.lock().unwrap().journal.clear();
    seen.lock().unwrap().holds = true;
    let mut read = Box::pin(file.start_read(0, 500_000).await.unwrap().wait());
    for _ in 0..20 {
        yield_now().await;
        let is_there =
            std::future::poll_fn(|cx| std::task::Poll::Ready(read.as_mut().poll(cx).is_ready())).await;
        assert!(!is_there, "the server may still write to it");
    }
    let last = seen.lock().unwrap().journal.last().copied();
    assert!(matches!(last, Some(Event::Deregister(_))), "{last:?}");
    seen.lock().unwrap().release();
    assert_eq!(read.await.unwrap(), data);
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_a_timer_while_a_server_answers() {
    let began = Instant::now();
    let host = Host::new(|_| {});
    let (share, _seen, driver) = share(&host, &settings()).await.unwrap();
    let data = Bytes::from(content(3_000_000));
    let file = share.create("f").await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.close().await.unwrap();
    let file = share.open("f").await.unwrap();
    assert_eq!(file.read_at(0, 1 << 20).await.unwrap(), data[..1 << 20]);
    drop((file, share));
    driver.await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn short_transfers_and_encrypted_ones_register_nothing() {
    let host = Host::new(|_| {});
    for (encrypt, len) in [(false, 4096), (true, 100_000)] {
        let settings = Settings { encrypt, ..settings() };
        let (share, seen, _driver) = share(&host, &settings).await.unwrap();
        let data = Bytes::from(content(len));
        let file = share.create("f").await.unwrap();
        file.write_at(0, data.clone()).await.unwrap();
        file.close().await.unwrap();
        let file = share.open("f").await.unwrap();
        assert_eq!(file.read_at(0, len as u32).await.unwrap(), data);
        assert_eq!(seen.lock().unwrap().most, 0);
        let way =
            if encrypt { Way::RdmaMessages(Protection::Encrypted) } else { Way::Rdma(Protection::None) };
        assert_eq!(share.way(), way);
    }
}

#[tokio::test]
async fn transfers_wait_for_buffers_when_all_are_used() {
    let host = Host::new(|_| {});
    let (share, seen, _driver) = share(&host, &Settings { buffers: 3, ..settings() }).await.unwrap();
    let data = Bytes::from(content(1 << 20));
    let file = share.create("f").await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.close().await.unwrap();
    let file = share.open("f").await.unwrap();
    seen.lock().unwrap().holds = true;
    let mut reads = Vec::new();
    for at in 0..10_u32 {
        reads.push(file.start_read(u64::from(at) * 100_000, 100_000).await.unwrap());
    }
    for _ in 0..20 {
        yield_now().await;
    }
    let began =
        |seen: &Seen| seen.journal.iter().filter(|event| **event == Event::Send(Command::READ)).count();
    assert_eq!(began(&seen.lock().unwrap()), 3);
    seen.lock().unwrap().release();
    for (at, read) in reads.into_iter().enumerate() {
        assert_eq!(read.wait().await.unwrap(), data[at * 100_000..(at + 1) * 100_000]);
    }
}

#[tokio::test]
async fn memory_that_cannot_be_registered_fails_its_transfer_only() {
    let host = Host::new(|_| {});
    let (share, seen, _driver) = share(&host, &settings()).await.unwrap();
    let file = share.create("f").await.unwrap();
    seen.lock().unwrap().refuses = true;
    let said = file.write_at(0, content(10_000).into()).await.unwrap_err().to_string();
    assert_eq!(said, "the buffer could not be registered");
    seen.lock().unwrap().refuses = false;
    file.write_at(0, content(10_000).into()).await.unwrap();
}

#[tokio::test]
async fn wherever_a_connection_is_cut_every_operation_has_one_result_and_the_driver_ends() {
    let host = Host::new(|_| {});
    let mut ended = 0;
    for cut_after in 1..20 {
        let (loopback, seen) = Loopback::new(&host);
        seen.lock().unwrap().cut_after = Some(cut_after);
        let (remote, driver) = Remote::over(loopback, &settings()).unwrap();
        let driver = tokio::spawn(driver);
        let result = async {
            let share = login(&remote, PASSWORD).await?.connect("data").await?;
            let file = share.create("f").await?;
            let data = Bytes::from(content(100_000));
            let mut writes = Vec::new();
            for at in 0..8 {
                writes.push(file.start_write(at * 100_000, data.clone()).await?);
            }
            let mut results = Vec::new();
            for write in writes {
                results.push(write.wait().await);
            }
            let results: Vec<Result<u64, Error>> = results;
            results.into_iter().collect::<Result<Vec<_>, _>>()
        }
        .await;
        let is_cut = result.is_err();
        if let Err(error) = result {
            assert_eq!(error.to_string(), "the connection is over: somebody has cut it");
            ended += 1;
        }
        if is_cut {
            let again = login(&remote, PASSWORD).await.unwrap_err().to_string();
            assert_eq!(again, "the connection is over: somebody has cut it");
        }
        drop(remote);
        driver.await.unwrap();
        assert_eq!(seen.lock().unwrap().valid, 0, "nothing is registered any more");
    }
    // NEGOTIATE, two SESSION_SETUPs, TREE_CONNECT, CREATE, and eight WRITEs; the last cuts come too late.
    assert_eq!(ended, 13);
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_server_takes_nothing_is_closed_all_the_same() {
    let (here, _there) = tokio::io::duplex(16);
    let (remote, driver) = Remote::over(Tcp::over(here), &settings()).unwrap();
    let driver = tokio::spawn(driver);
    drop(remote);
    tokio::time::timeout(Duration::from_secs(60), driver).await.expect("it is closed").unwrap();
}
