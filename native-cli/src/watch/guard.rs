//! Who may read the page: whoever has its address, from this machine, and no page of another origin.

use super::answer::Status;
use super::request::PageRequest;
use crate::outcome::Stop;

/// Random bytes of the token.
const TOKEN: usize = 16;

/// The rules by which requests are let in.
///
/// A page of another origin may send requests here, also under a name of its own that it lets mean this machine (DNS
/// rebinding): its `Host` or `Origin` then tells, and it does not know the token.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// Rules for a port, with a new token.
    pub(super) fn new(port: u16) -> Result<Self, Stop> {
        let mut bytes = [0; TOKEN];
        getrandom::fill(&mut bytes)
            .map_err(|error| Stop::failure(format!("the system gives no random numbers for the address: {error}")))?;
        Ok(Self { port, token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// The address of the page.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Checks a request; gives its path below the token, and the query.
    pub(super) fn admit<'a>(&self, request: &'a PageRequest) -> Result<(&'a str, &'a str), Status> {
        let own = |name: &str| {
            let host = name.strip_suffix(&format!(":{}", self.port));
            host.is_some_and(|host| host == "127.0.0.1" || host.eq_ignore_ascii_case("localhost"))
        };
        match &request.hosts[..] {
            [host] if own(host) => {}
            [_] => return Err(Status::Forbidden),
            _ => return Err(Status::Bad),
        }
        if !request.origins.iter().all(|origin| origin.strip_prefix("http://").is_some_and(own)) {
            return Err(Status::Forbidden);
        }
        let below = request.target.strip_prefix('/').ok_or(Status::Bad)?;
        let (token, path) = below.split_once('/').unwrap_or((below, ""));
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return Err(Status::Unknown);
        }
        if request.method != "GET" {
            return Err(Status::NotGet);
        }
        Ok(path.split_once('?').unwrap_or((path, "")))
    }
}

/// Compares in a time that does not tell how much is the same.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_printed_address_is_let_in() {
        let guard = Guard::new(8080).unwrap();
        assert_ne!(guard.token, Guard::new(8080).unwrap().token);
        assert_eq!(guard.token.len(), 2 * TOKEN);
        let token = guard.token.clone();
        let request = |host: &str, origins: &[&str], target: &str| PageRequest {
            method: "GET".into(),
            target: target.replace("TOKEN", &token),
            hosts: vec![host.into()],
            origins: origins.iter().map(|origin| (*origin).into()).collect(),
        };
        let here = "127.0.0.1:8080";
        for (case, expected) in [
            (request(here, &[], "/TOKEN/run?since=3"), Ok(("run", "since=3"))),
            (request("LocalHost:8080", &["http://127.0.0.1:8080"], "/TOKEN/"), Ok(("", ""))),
            (request(here, &[], "/TOKEN"), Ok(("", ""))),
            (request("evil.example:8080", &[], "/TOKEN/"), Err(Status::Forbidden)),
            (request("127.0.0.1.evil.example:8080", &[], "/TOKEN/"), Err(Status::Forbidden)),
            (request("127.0.0.1:8081", &[], "/TOKEN/"), Err(Status::Forbidden)),
            (request("127.0.0.1", &[], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &["http://evil.example"], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &["null"], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &["http://127.0.0.1:3000"], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &["https://127.0.0.1:8080"], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &["http://localhost:8080", "http://evil.example"], "/TOKEN/"), Err(Status::Forbidden)),
            (request(here, &[], "/"), Err(Status::Unknown)),
            (request(here, &[], "//TOKEN/"), Err(Status::Unknown)),
            (request(here, &[], "/TOKENx/"), Err(Status::Unknown)),
            (request(here, &[], "/run"), Err(Status::Unknown)),
            (request(here, &[], "http://127.0.0.1:8080/TOKEN/"), Err(Status::Bad)),
        ] {
            assert_eq!(guard.admit(&case), expected, "{case:?}");
        }
        let mut odd = request(here, &[], "/TOKEN/");
        odd.method = "POST".into();
        assert_eq!(guard.admit(&odd), Err(Status::NotGet));
        // Whoever does not know the token is not told more.
        odd.target = "/0000/".into();
        assert_eq!(guard.admit(&odd), Err(Status::Unknown));
        odd.hosts.push(here.into());
        assert_eq!(guard.admit(&odd), Err(Status::Bad));
        odd.hosts.clear();
        assert_eq!(guard.admit(&odd), Err(Status::Bad));
    }
}
