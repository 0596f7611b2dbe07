//! A server that answers each request with the steps of a script.

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What a server does in answer to a request.
#[derive(Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    /// Lets time pass.
    Pause(Duration),
    /// Ends the connection.
    Close,
    /// Waits until the client ends the connection.
    Forever,
    /// Sends the same again and again until the client ends the connection.
    Drip(Vec<u8>, Duration),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) connection: usize,
    pub(super) line: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(super) struct Server {
    pub(super) base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: mpsc::UnboundedReceiver<usize>,
}

#[derive(Clone)]
struct Shared {
    scripts: Arc<Mutex<VecDeque<Vec<Step>>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: mpsc::UnboundedSender<usize>,
}

impl Server {
    pub(super) async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (sender, closed) = mpsc::unbounded_channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared {
            scripts: Arc::new(Mutex::new(scripts.into_iter().collect())),
            seen: Arc::clone(&seen),
            closed: sender,
        };
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else {
                    break;
                };
                tokio::spawn(serve(stream, connection, shared.clone()));
            }
        });
        Self { base, seen, closed }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a client ends a connection.
    pub(super) async fn closed(&mut self) -> usize {
        tokio::time::timeout(Duration::from_secs(10), self.closed.recv())
            .await
            .expect("a connection that was to be closed stays open")
            .unwrap()
    }

    /// Waits until a request has come.
    pub(super) async fn asked(&self) {
        while self.seen.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

async fn serve(mut stream: TcpStream, connection: usize, shared: Shared) {
    while let Some(seen) = read(&mut stream, connection).await {
        shared.seen.lock().unwrap().push(seen);
        let script = shared.scripts.lock().unwrap().pop_front();
        let script = script.unwrap_or_else(|| vec![Step::Send(full(500, &[], "no script left"))]);
        for step in script {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        let _ = shared.closed.send(connection);
                        return;
                    }
                    stream.flush().await.unwrap();
                }
                Step::Pause(pause) => tokio::time::sleep(pause).await,
                Step::Close => return,
                Step::Forever => {
                    let mut byte = [0];
                    let _ = stream.read(&mut byte).await;
                    let _ = shared.closed.send(connection);
                    return;
                }
                Step::Drip(bytes, pause) => {
                    while stream.write_all(&bytes).await.is_ok() {
                        tokio::time::sleep(pause).await;
                    }
                    let _ = shared.closed.send(connection);
                    return;
                }
            }
        }
    }
}

async fn read(stream: &mut TcpStream, connection: usize) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen {
        connection,
        line,
        headers,
        body,
    })
}

/// A whole answer.
pub(super) fn full(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// The head of a stream.
pub(super) fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        .to_vec()
}

/// A piece of a stream.
pub(super) fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The end of a stream.
pub(super) fn end() -> Vec<u8> {
    b"0\r\n\r\n".to_vec()
}

/// A stream of these events, in chunks of `size` bytes.
pub(super) fn events(values: &[Value], last: &str, size: usize) -> Vec<Step> {
    let mut text = String::new();
    for value in values {
        let name = value["type"].as_str().unwrap_or_default();
        if !name.is_empty() {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {value}\n\n"));
    }
    text.push_str(last);
    let mut steps = vec![Step::Send(head())];
    for piece in text.as_bytes().chunks(size) {
        let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
        steps.push(Step::Send(bytes));
    }
    steps.push(Step::Send(end()));
    steps
}
