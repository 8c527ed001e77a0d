//! Metrics by HTTP.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::trouble::Trouble;

/// The time that a request may take.
const WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a request that are looked at.
const REQUEST_MAX: usize = 2048;

/// Serves metrics at an address, if there is one, with what `text` says, for as long as the runtime lives. Call it inside a runtime.
///
/// # Errors
/// It cannot be listened there.
pub async fn open(
    address: Option<SocketAddr>,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<(), Trouble> {
    let Some(address) = address else { return Ok(()) };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Trouble::other(&format!("cannot listen at {address} for metrics: {error}")))?;
    tokio::spawn(serve(listener, text));
    Ok(())
}

/// Answers requests one by one, for ever, with what `text` says.
async fn serve(listener: TcpListener, text: impl Fn() -> String) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Whoever is too slow gets nothing.
                let _ = timeout(WITHIN, answer(stream, &text)).await;
            }
            // No file descriptors are left, for example.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, text: &impl Fn() -> String) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ") {
        ("200 OK", text())
    } else {
        ("404 Not Found", "GET /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A server of metrics whose text counts its answers.
    async fn server() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = AtomicU64::new(0);
        tokio::spawn(serve(listener, move || {
            format!("answers {}\n", answers.fetch_add(1, Ordering::Relaxed))
        }));
        address
    }

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_request_gets_the_metrics_of_now_and_one_for_anything_else_gets_none() {
        let address = server().await;
        for (request, count) in [("GET /metrics HTTP/1.1\r\n\r\n", 0), ("GET / HTTP/1.0\r\n\r\n", 1)] {
            let answer = ask(address, request).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("\r\nContent-Length: 10\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\nanswers {count}\n")), "{answer}");
        }
        for request in ["GET /metricsx HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n", "\r\n\r\n"] {
            let answer = ask(address, request).await;
            assert!(
                answer.starts_with("HTTP/1.1 404 Not Found\r\n") && !answer.contains("answers"),
                "{answer}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_asks_nothing_holds_up_others_for_seconds_only() {
        let address = server().await;
        let _silent = TcpStream::connect(address).await.unwrap();
        let answer = timeout(WITHIN * 2, ask(address, "GET /metrics HTTP/1.1\r\n\r\n")).await.unwrap();
        assert!(answer.ends_with("answers 0\n"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_an_end_is_not_kept() {
        let address = server().await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&[b'x'; REQUEST_MAX]).await.unwrap();
        let mut status = [0; 12];
        timeout(WITHIN / 2, stream.read_exact(&mut status)).await.expect("answered at once").unwrap();
        assert_eq!(&status, b"HTTP/1.1 404");
    }
}
