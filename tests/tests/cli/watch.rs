//! `watch`: a page of this machine, for whoever has its address, that disturbs no run.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

const SMALL: &str = "--set hidden=[8] --set envs=2 --set horizon=64 --device cpu";

/// A watcher with its address, ended with the test.
pub struct Watcher {
    process: Child,
    port: u16,
    path: String,
}

impl Watcher {
    pub fn start(dir: &Sandbox, arguments: &str) -> Self {
        let mut process = dir.command(&format!("watch {arguments}")).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("http://")).unwrap();
        let (port, path) = address.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
        Self { process, port: port.parse().unwrap(), path: format!("/{path}") }
    }

    /// The head and the body of an answer.
    fn get(&self, path: &str, lines: &str) -> (String, String) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        let host = if lines.contains("Host: ") { String::new() } else { format!("Host: 127.0.0.1:{}\r\n", self.port) };
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{host}{lines}\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    pub fn json(&self, name: &str) -> Value {
        let (head, body) = self.get(&format!("{}{name}", self.path), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{name}: {head}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn train(dir: &Sandbox, arguments: &str) {
    let done = dir.run(&format!("train {arguments}"));
    assert_eq!(done.code, Some(0), "{done:?}");
}

/// The files of a folder with their bytes.
fn files(dir: &Sandbox, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(dir.join(folder)).unwrap().map(|entry| entry.unwrap());
    let all = all.filter(|entry| entry.path().is_file());
    all.map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_run_is_shown_while_it_goes_on_and_is_not_disturbed() {
    let dir = sandbox();
    train(&dir, &format!("ppo --env pendulum {SMALL} --steps 256 --out r/a"));
    let before = files(&dir, "r/a");
    let watcher = Watcher::start(&dir, "r/a");
    let run = watcher.json("run");
    assert_eq!(
        (&run["steps"], &run["facts"]["env"], &run["facts"]["writer"]),
        (&256.into(), &"pendulum".into(), &false.into())
    );
    let of = |run: &Value, name: &str| {
        let columns = run["columns"].as_array().unwrap();
        columns.iter().find(|column| column["name"] == name).map_or(Value::Null, |column| column["points"].clone())
    };
    assert_eq!(of(&run, "train/entropy").as_array().unwrap().len(), 2, "{run}");
    let played = watcher.json("episodes");
    assert_eq!((&played["steps"], &played["env"]), (&256.into(), &"pendulum".into()));
    let film = &played["films"][0];
    assert_eq!(film["frames"].as_array().map(Vec::len), film["returns"].as_array().map(Vec::len));
    assert!(film["frames"].as_array().unwrap().len() > 100 && film["frames"][0]["shapes"][0].is_array(), "{played}");
    // The next episodes are others.
    assert_ne!(watcher.json("episodes")["films"][0]["returns"], film["returns"]);
    assert_eq!(files(&dir, "r/a"), before, "a watcher changes nothing");
    // The run goes on under its eyes, and its newer policy plays.
    train(&dir, "--resume r/a --steps 512");
    let begin = Instant::now();
    let newer = loop {
        let run = watcher.json("run?since=256&epoch=0");
        let played = watcher.json("episodes");
        if played["steps"] == 512 && run["steps"] == 512 {
            break run;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{run} {}", played["steps"]);
        std::thread::sleep(Duration::from_millis(200));
    };
    let entropy = of(&newer, "train/entropy");
    assert_eq!(
        entropy.as_array().unwrap().iter().map(|point| point[0].as_f64()).collect::<Vec<_>>(),
        [Some(384.0), Some(512.0)]
    );
}

#[test]
fn only_the_address_that_was_printed_is_answered() {
    let dir = sandbox();
    train(&dir, &format!("ppo --env cartpole {SMALL} --steps 128 --out r/a"));
    let watcher = Watcher::start(&dir, "r");
    let (port, page) = (watcher.port, watcher.path.clone());
    let (head, body) = watcher.get(&page, "");
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("<canvas id=\"scene\""), "{head}");
    assert!(
        head.contains("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "),
        "{head}"
    );
    for (path, lines, status) in [
        ("/".to_owned(), String::new(), 404),
        (format!("{page}metrics.csv"), String::new(), 404),
        (format!("{page}../../etc/passwd"), String::new(), 404),
        (page.clone(), format!("Host: evil.example:{port}\r\n"), 403),
        (format!("{page}run"), "Origin: http://evil.example\r\n".to_owned(), 403),
        (format!("{page}run?{}", "x".repeat(20_000)), String::new(), 431),
    ] {
        let (head, _) = watcher.get(&path, &lines);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {lines}: {head}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_watcher_and_not_the_run() {
    let dir = sandbox();
    train(&dir, &format!("ppo --env cartpole {SMALL} --steps 128 --out r/a"));
    let mut watcher = Watcher::start(&dir, "r/a");
    let pid = watcher.process.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(watcher.process.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    watcher.process.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("stopped watching; the run itself is untouched"), "{told}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let dir = sandbox();
    fs::create_dir_all(dir.join("nothing")).unwrap();
    for name in ["r/a", "r/b"] {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("metrics.csv"), "").unwrap();
    }
    expect_user_error(&dir.run("watch nothing"), &["nothing holds no run"]);
    expect_user_error(&dir.run("watch missing"), &["missing"]);
    expect_user_error(&dir.run("watch r"), &["r holds 2 runs, and one is watched at a time", "quickstudy watch r/a"]);
    expect_user_error(&dir.run("watch r/a --port 70000"), &["70000"]);
    expect_user_error(&dir.run("watch r/a --port -1"), &["-1"]);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = format!("port {port} is in use by another program");
    expect_user_error(&dir.run(&format!("watch r/a --port {port}")), &[&message, "hint: name another one with --port"]);
    // A run that has just begun has no numbers, no facts and no policy.
    let watcher = Watcher::start(&dir, "r/b");
    assert_eq!((&watcher.json("run")["steps"], &watcher.json("run")["facts"]["env"]), (&0.into(), &Value::Null));
    assert_eq!(watcher.json("episodes")["why"], "there is no policy yet");
}
