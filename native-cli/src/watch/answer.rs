//! Answers to requests, with what a browser is to forbid the page.

use std::io::{self, Write};

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Fine,
    Bad,
    Forbidden,
    Unknown,
    NotGet,
    TooSlow,
    HasBody,
    TooLong,
    Busy,
}

impl Status {
    /// Its line, and a text for whoever reads it.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Fine => ["200 OK", ""],
            Self::Bad => ["400 Bad Request", "this is no request that a browser makes"],
            Self::Forbidden => ["403 Forbidden", "open the address that `quickstudy watch` printed, as it is"],
            Self::Unknown => ["404 Not Found", "there is no such page; its address has a token, which was printed"],
            Self::NotGet => ["405 Method Not Allowed", "pages are read, and nothing else"],
            Self::TooSlow => ["408 Request Timeout", "the request took too long to arrive"],
            Self::HasBody => ["413 Content Too Large", "requests have no body"],
            Self::TooLong => ["431 Request Header Fields Too Large", "the request is too long"],
            Self::Busy => ["503 Service Unavailable", "too many pages are open; close some"],
        }
    }
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: Status,
    pub kind: &'static str,
    pub body: String,
}

/// Everything is forbidden but the page's own style, program and numbers, and no other page may frame it.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n";

impl Answer {
    /// An answer that has what was asked for.
    pub(super) fn fine(kind: &'static str, body: impl Into<String>) -> Self {
        Self { status: Status::Fine, kind, body: body.into() }
    }

    /// A refusal.
    pub(super) fn refused(status: Status) -> Self {
        let body = status.words()[1].to_owned() + "\n";
        Self { status, kind: "text/plain; charset=utf-8", body }
    }

    /// Writes it, and that no more comes.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let allow = if self.status == Status::NotGet { "Allow: GET\r\n" } else { "" };
        let [status, _] = self.status.words();
        let (kind, length) = (self.kind, self.body.len());
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}{HEADERS}\r\n");
        to.write_all(head.as_bytes())?;
        to.write_all(self.body.as_bytes())?;
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_how_long_they_are_and_what_is_forbidden() {
        let mut out = Vec::new();
        Answer::refused(Status::NotGet).write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n") && head.contains("\r\nAllow: GET\r\n"),
            "{head}"
        );
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        assert!(head.contains("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; "), "{head}");
        assert!(head.lines().all(|line| !line.starts_with(' ')), "{head}");
    }
}
