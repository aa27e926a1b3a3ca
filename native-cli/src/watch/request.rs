//! Requests of a page, read within limits of time and size.

use super::answer::Status;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request at most; those of the page have some hundreds.
const LONGEST: usize = 8 << 10;
/// Lines of a request at most.
const LINES: usize = 64;
/// Time in which a request has to arrive as a whole, however many pieces it comes in.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request without a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageRequest {
    /// GET, or what is refused.
    pub method: String,
    /// The path, with the query.
    pub target: String,
    /// The values of `Host`: exactly one in a good request.
    pub hosts: Vec<String>,
    /// The values of `Origin`.
    pub origins: Vec<String>,
}

impl PageRequest {
    /// Reads a request.
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self, Option<Status>> {
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let mut piece = [0; 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // A timeout of nothing would be none at all.
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(Some(Status::TooSlow));
            }
            match stream.read(&mut piece) {
                Ok(0) => return Err(None),
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error)
                    if [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut].contains(&error.kind()) =>
                {
                    return Err(Some(Status::TooSlow));
                }
                Err(_) => return Err(None),
            }
            if let Some(request) = Self::parse(&bytes).map_err(Some)? {
                return Ok(request);
            }
            if bytes.len() > LONGEST {
                return Err(Some(Status::TooLong));
            }
        }
    }

    /// The request that these bytes begin with; none as long as they are not all there.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, Status> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut parsed = httparse::Request::new(&mut lines);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::TooLong),
            Err(_) => return Err(Status::Bad),
        }
        let mut request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            ..Self::default()
        };
        for line in parsed.headers.iter() {
            let value =
                || std::str::from_utf8(line.value).map(|value| value.trim().to_owned()).map_err(|_| Status::Bad);
            match line.name.to_ascii_lowercase().as_str() {
                "host" => request.hosts.push(value()?),
                "origin" => request.origins.push(value()?),
                "content-length" if value()? != "0" => return Err(Status::HasBody),
                "transfer-encoding" => return Err(Status::HasBody),
                _ => {}
            }
        }
        Ok(Some(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_far_as_they_are_there() {
        let whole = b"GET /a/b?c=1 HTTP/1.1\r\nHOST: 127.0.0.1:80 \r\nOrigin: null\r\nX: y\r\n\r\n";
        let request = PageRequest::parse(whole).unwrap().unwrap();
        assert_eq!((&*request.method, &*request.target), ("GET", "/a/b?c=1"));
        assert_eq!((request.hosts, request.origins), (vec!["127.0.0.1:80".to_owned()], vec!["null".to_owned()]));
        for cut in 0..whole.len() {
            assert_eq!(PageRequest::parse(&whole[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn what_is_no_request_of_a_page_is_refused() {
        for (text, status) in [
            ("GET\r\n\r\n", Status::Bad),
            ("\u{16}\u{3}\u{1}", Status::Bad),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", Status::Bad),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", Status::HasBody),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Status::HasBody),
            (&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65)), Status::TooLong),
        ] {
            assert_eq!(PageRequest::parse(text.as_bytes()), Err(status), "{text}");
        }
    }
}
