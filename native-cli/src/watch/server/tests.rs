//! The server over real connections.

use super::*;
use crate::folder::file;
use crate::folder::tests::{Scratch, scratch};
use std::io::Write as _;

/// A server of a run with two rows, whose player answers at once; its folder, its port and its token.
fn server(name: &str) -> (Scratch, u16, String) {
    let folder = scratch(name);
    std::fs::write(folder.join(file::CONFIG), "algorithm = \"ppo\"\nenv = \"cartpole\"\nsteps = 200\n").unwrap();
    let rows = "{\"time/env_steps\":100,\"eval/return_mean\":1.5}\n{\"time/env_steps\":200,\"eval/return_mean\":2}\n";
    std::fs::write(folder.join(file::JSONL), rows).unwrap();
    let (address, asked) = serve(listen(0).unwrap(), &folder).unwrap();
    thread::spawn(move || asked.into_iter().for_each(|page| drop(page.send("{\"films\":[]}".to_owned()))));
    let (port, token) = address.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
    (folder, port.parse().unwrap(), token.trim_end_matches('/').to_owned())
}

/// Sends bytes, and gives the head and the body of the answer.
fn sent(port: u16, bytes: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    // The server may have answered and closed before all of a long request was sent.
    let _ = stream.write_all(bytes);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_owned(), body.to_owned())
}

fn get(port: u16, path: &str) -> (String, String) {
    sent(port, format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())
}

#[test]
fn the_page_and_the_numbers_are_there_for_who_has_the_address() {
    let (_folder, port, token) = server("watch-server");
    for (path, kind, part) in [
        ("", "text/html", "<script type=\"module\" src=\"watch.js\""),
        ("watch.css", "text/css", "prefers-color-scheme: dark"),
        ("watch.js", "text/javascript", "fetch("),
        ("chart.js", "text/javascript", "export function paintChart("),
        ("scene.js", "text/javascript", "export function paint("),
        ("run", "application/json", "\"points\":[[100.0,1.5],[200.0,2.0]]"),
        ("run?since=100&epoch=0", "application/json", "\"points\":[[200.0,2.0]]"),
        ("episodes", "application/json", "films"),
    ] {
        let (head, body) = get(port, &format!("/{token}/{path}"));
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {head}");
        assert!(head.contains(&format!("\r\nContent-Type: {kind}")) && body.contains(part), "{path}: {head}\n{body}");
        assert!(head.contains("\r\nContent-Security-Policy: default-src 'none'; "), "{head}");
    }
    let (_, body) = get(port, &format!("/{token}/run"));
    let run: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&run["facts"]["env"], &run["facts"]["done"], &run["steps"]),
        (&"cartpole".into(), &true.into(), &200.into())
    );
}

#[test]
fn nobody_else_gets_anything() {
    let (_folder, port, token) = server("watch-refused");
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\n{host}"), "404"),
        (format!("GET /run HTTP/1.1\r\n{host}"), "404"),
        (format!("GET /{}/run HTTP/1.1\r\n{host}", "0".repeat(32)), "404"),
        (format!("GET /{token}/config.toml HTTP/1.1\r\n{host}"), "404"),
        (format!("GET /{token}/../run HTTP/1.1\r\n{host}"), "404"),
        (format!("GET /{token}/%2e%2e/etc/passwd HTTP/1.1\r\n{host}"), "404"),
        (format!("GET /{token}/run HTTP/1.1\r\nHost: evil.example:{port}\r\n"), "403"),
        (format!("GET /{token}/run HTTP/1.1\r\nHost: evil.example\r\n"), "403"),
        (format!("GET /{token}/run HTTP/1.1\r\n{host}Origin: http://evil.example\r\n"), "403"),
        (format!("GET /{token}/run HTTP/1.1\r\n{host}Origin: null\r\n"), "403"),
        (format!("GET /{token}/run HTTP/1.1\r\n"), "400"),
        (format!("POST /{token}/run HTTP/1.1\r\n{host}"), "405"),
        (format!("DELETE /{token}/ HTTP/1.1\r\n{host}"), "405"),
        (format!("POST /{token}/run HTTP/1.1\r\n{host}Content-Length: 3\r\n"), "413"),
        (format!("GET /{token}/run?{} HTTP/1.1\r\n{host}", "x".repeat(20_000)), "431"),
        ("nonsense".to_owned(), "400"),
    ] {
        let (head, body) = sent(port, format!("{request}\r\n").as_bytes());
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {head}");
        assert!(!body.contains("points") && !body.contains(&token), "{request}: {body}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = listen(0).unwrap();
    let port = taken.local_addr().unwrap().port();
    let stop = listen(port).unwrap_err();
    assert_eq!((stop.code, &*stop.message), (2, &*format!("port {port} is in use by another program")));
    assert!(stop.hint.contains("--port"), "{}", stop.hint);
    assert!(taken.local_addr().unwrap().ip().is_loopback());
}

#[test]
fn many_connections_that_say_nothing_leave_the_server_alive() {
    let (_folder, port, token) = server("watch-many");
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut silent: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect()).collect();
    let mut refused = connect();
    let mut text = String::new();
    refused.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    // Those that have asked by then read the answer too, however much they asked: none is cut off.
    let request = format!("GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: {}\r\n\r\n", "y".repeat(9_000));
    let mut asked: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect()).collect();
    // Answered or not, what is sent arrives.
    asked.iter_mut().for_each(|stream| stream.write_all(request.as_bytes()).unwrap());
    thread::sleep(Duration::from_millis(50));
    for stream in &mut asked {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    }
    // One that goes away makes room.
    silent.truncate(CONNECTIONS - 8);
    let fine = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(10));
        get(port, &format!("/{token}/")).0.starts_with("HTTP/1.1 200 ")
    });
    assert!(fine);
}
