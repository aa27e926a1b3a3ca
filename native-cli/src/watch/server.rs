//! The server: the page and the numbers of one run, to browsers of this machine.

use super::answer::{Answer, Status};
use super::facts;
use super::guard::Guard;
use super::numbers::Numbers;
use super::request::PageRequest;
use crate::outcome::Stop;
use serde_json::Value;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const HTML: &str = include_str!("../../assets/page/watch.html");
const STYLE: &str = concat!(include_str!("../../assets/page/tokens.css"), include_str!("../../assets/page/watch.css"));

/// Connections that are answered at once.
const CONNECTIONS: usize = 32;
/// Connections that are closed after they were told that too many are open; more are cut off.
const REFUSED: usize = 128;
/// Pages that wait for an episode.
const WAITING: usize = 4;
/// Time in which an episode has to be played.
const PLAYING: Duration = Duration::from_secs(60);
/// Time that a reader takes for a piece of an answer at most.
const WRITING: Duration = Duration::from_secs(10);
/// Between looks at the run's files at least, however many pages ask.
const LOOK: Duration = Duration::from_millis(400);

/// A page that waits for an episode: where to send it to.
pub(super) type Reply = Sender<String>;

/// State that all connections share.
struct Shared {
    folder: PathBuf,
    guard: Guard,
    run: Mutex<Looked>,
    players: SyncSender<Reply>,
    connections: AtomicUsize,
}

/// The numbers and facts of the run as of the last look.
struct Looked {
    numbers: Numbers,
    facts: Value,
    looked: Option<Instant>,
}

/// Opens a port of this machine; 0 is any that is free.
pub(super) fn listen(port: u16) -> Result<TcpListener, Stop> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Stop::user(format!("port {port} is in use by another program"))
            .hint("name another one with --port, or leave --port out for one that is free"),
        ErrorKind::PermissionDenied => Stop::user(format!("port {port} may not be opened: {error}"))
            .hint("name one above 1023 with --port, or leave --port out for one that is free"),
        _ => Stop::failure(format!("cannot open port {port}: {error}")),
    })
}

/// Answers on a thread of its own from now on. Gives the address of the page, and the pages that wait for an episode.
pub(super) fn serve(listener: TcpListener, folder: &Path) -> Result<(String, Receiver<Reply>), Stop> {
    let failed = |error: io::Error| Stop::failure(format!("cannot serve the page: {error}"));
    let guard = Guard::new(listener.local_addr().map_err(failed)?.port())?;
    let address = guard.address();
    let (players, asked) = sync_channel(WAITING);
    let run = Mutex::new(Looked { numbers: Numbers::new(folder), facts: Value::Null, looked: None });
    let shared = Arc::new(Shared { folder: folder.to_owned(), guard, run, players, connections: AtomicUsize::new(0) });
    // One thread closes all that are refused: what it waits for ends for all of them at once.
    let (refused, closed) = sync_channel::<(TcpStream, Instant)>(REFUSED);
    let closing = move || closed.into_iter().for_each(|(stream, until)| close(stream, until));
    thread::Builder::new().name("watch-refused".into()).spawn(closing).map_err(failed)?;
    let accepting = move || accept(&listener, &shared, &refused);
    thread::Builder::new().name("watch".into()).spawn(accepting).map_err(failed)?;
    Ok((address, asked))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, refused: &SyncSender<(TcpStream, Instant)>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Without descriptors, for one, this would spin.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let _ = stream.set_write_timeout(Some(WRITING));
        if shared.connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
            if Answer::refused(Status::Busy).write(&mut stream).is_ok() {
                let _ = refused.try_send((stream, deadline()));
            }
            shared.connections.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let own = shared.clone();
        let answering = thread::Builder::new().name("watch-page".into()).spawn(move || {
            answer(stream, &own);
            own.connections.fetch_sub(1, Ordering::SeqCst);
        });
        if answering.is_err() {
            shared.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Answers a connection. One that breaks off concerns nobody.
fn answer(mut stream: TcpStream, shared: &Shared) {
    let answer = match PageRequest::read(&mut stream) {
        Ok(request) => match shared.guard.admit(&request) {
            Ok((path, query)) => shared.page(path, query),
            Err(status) => Answer::refused(status),
        },
        Err(Some(status)) => Answer::refused(status),
        Err(None) => return,
    };
    if answer.write(&mut stream).is_ok() {
        close(stream, deadline());
    }
}

impl Shared {
    fn page(&self, path: &str, query: &str) -> Answer {
        let script = |text: &str| Answer::fine("text/javascript; charset=utf-8", text);
        match path {
            "" => Answer::fine("text/html; charset=utf-8", HTML),
            "watch.css" => Answer::fine("text/css; charset=utf-8", STYLE),
            "watch.js" => script(include_str!("../../assets/page/watch.js")),
            "canvas.js" => script(include_str!("../../assets/page/canvas.js")),
            "chart.js" => script(include_str!("../../assets/page/chart.js")),
            "scene.js" => script(include_str!("../../assets/page/scene.js")),
            "run" => Answer::fine("application/json", self.run(number(query, "since"), number(query, "epoch"))),
            "episodes" => match self.episodes() {
                Some(text) => Answer::fine("application/json", text),
                None => Answer::refused(Status::Busy),
            },
            _ => Answer::refused(Status::Unknown),
        }
    }

    /// The numbers after so many steps, with the facts.
    fn run(&self, since: u64, epoch: u64) -> String {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if run.looked.is_none_or(|looked| looked.elapsed() > LOOK) {
            // What cannot be read now is read later; the page shows how long nothing came.
            let _ = run.numbers.look();
            run.facts = facts::facts(&self.folder, run.numbers.steps(), run.numbers.iterations());
            run.looked = Some(Instant::now());
        }
        let mut all = run.numbers.json(since, epoch);
        all["facts"] = run.facts.clone();
        all.to_string()
    }

    /// Episodes of the newest policy; none if too many pages wait for some.
    fn episodes(&self) -> Option<String> {
        let (send, played) = channel();
        self.players.try_send(send).ok()?;
        played.recv_timeout(PLAYING).ok()
    }
}

/// A number of a query; 0 where there is none.
fn number(query: &str, key: &str) -> u64 {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| *name == key).find_map(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Time in which the other side reads the answer and closes.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are still taken from it at most.
const UNREAD: usize = 256 << 10;

/// When a connection that has its answer now is closed at the latest.
pub(super) fn deadline() -> Instant {
    Instant::now() + LINGER
}

/// Closes a connection that has its answer: says that no more comes, and reads what the other side still sends until it
/// closes or the time is up. A socket that is closed with bytes of a request unread is *reset*, and the answer is lost.
pub(super) fn close(mut stream: TcpStream, until: Instant) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut piece = [0; 4096];
    let mut unread = UNREAD;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A timeout of nothing would be none at all: what has arrived is read all the same.
        let wait = left.max(Duration::from_millis(1));
        if stream.set_read_timeout(Some(wait)).is_err() {
            return;
        }
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(n) if n < unread => unread -= n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests;
