//! How much memory there is to take.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes that this process may take when it has started so many more threads: what is free on the
/// machine, or less where a control group or a limit of the process says so; a twentieth is left for all
/// else. Nothing where the system does not tell.
pub(crate) fn free(threads: usize) -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let all = [available(&read), group(&read), address_space(&read, threads)];
    all.into_iter().flatten().min().map(|bytes| bytes - bytes / 20)
}

/// Tells whether `ulimit -v` limits the process, so that addresses are short and not only what is written.
pub(crate) fn is_limited() -> bool {
    address_space(&|path| std::fs::read_to_string(path).ok(), 0).is_some()
}

/// Tells whether `ulimit -v` left fewer addresses, when this was asked first, than threads would take with half
/// of them: then all is done on one thread.
pub(crate) fn is_short() -> bool {
    static SHORT: OnceLock<bool> = OnceLock::new();
    *SHORT.get_or_init(|| {
        let threads = 1 + std::thread::available_parallelism().map_or(1, usize::from);
        is_short_for(address_space(&|path| std::fs::read_to_string(path).ok(), 0), threads)
    })
}

fn is_short_for(left: Option<u64>, threads: usize) -> bool {
    left.is_some_and(|left| left / 2 < THREAD.saturating_mul(threads as u64))
}

/// Reads a file of the system.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The number in the line that begins with `key`.
fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

fn available(read: Read<'_>) -> Option<u64> {
    Some(number(&read(Path::new("/proc/meminfo"))?, "MemAvailable")? * 1024)
}

/// Bytes that the process's control group, or one around it, has left. Files that are cached count as free.
fn group(read: Read<'_>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let room = |folder: &Path, [limit, used, cached]: [&str; 3]| -> Option<u64> {
        let one = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
        let cached = read(&folder.join("memory.stat")).and_then(|stat| number(&stat, cached)).unwrap_or(0);
        Some(one(limit)?.saturating_sub(one(used)?.saturating_sub(cached)))
    };
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            "memory" => {
                let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
                ("/sys/fs/cgroup/memory", names)
            }
            _ => continue,
        };
        // In a container the path may be one that is only known outside.
        let own: PathBuf = [root, path.trim_start_matches('/')].iter().collect();
        for folder in own.ancestors().take_while(|folder| folder.starts_with(root)) {
            least = least.into_iter().chain(room(folder, names)).min();
        }
    }
    least
}

/// Addresses that a thread takes: a stack of 2 MiB, as Rust gives it, and a heap of 64 MiB, as glibc does.
const THREAD: u64 = 66 << 20;

/// The memory that `ulimit -v` leaves beside so many more threads.
fn address_space(read: Read<'_>, threads: usize) -> Option<u64> {
    let limit = number(&read(Path::new("/proc/self/limits"))?, "Max address space")?;
    let used = number(&read(Path::new("/proc/self/status"))?, "VmSize")? * 1024;
    let left = limit.saturating_sub(used);
    // Where a thread finds no addresses for a heap of its own, it shares that of the others.
    Some(left - THREAD.saturating_mul(threads as u64).min(left / 2))
}

/// A size: `8G`, `500M`, `1.5T`, or a number of bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size such as 8G, 500M or 1.5T, got `{text}`");
    let plain = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let (digits, unit) = match plain.chars().last() {
        Some('k' | 'K') => (&plain[..plain.len() - 1], 1e3),
        Some('m' | 'M') => (&plain[..plain.len() - 1], 1e6),
        Some('g' | 'G') => (&plain[..plain.len() - 1], 1e9),
        Some('t' | 'T') => (&plain[..plain.len() - 1], 1e12),
        _ => (plain, 1.0),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let bytes = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    if (1.0..=1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'a>(list: &'a [(&'a str, &'a str)]) -> impl Fn(&Path) -> Option<String> + 'a {
        |path| list.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn the_least_of_what_the_system_allows_counts() {
        let meminfo = ("/proc/meminfo", "MemTotal:  16 kB\nMemAvailable:    8000 kB\n");
        assert_eq!(available(&files(&[meminfo])), Some(8_192_000));
        let nested = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "700\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 500\ninactive_file 200\n"),
        ];
        assert_eq!(group(&files(&nested)), Some(500));
        let old = [
            ("/proc/self/cgroup", "5:cpu:/x\n4:memory:/unknown/here\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "400"),
        ];
        assert_eq!(group(&files(&old)), Some(600));
        assert_eq!(group(&files(&[])), None);
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax address space         4096000   unlimited   bytes\n";
        let process = [("/proc/self/limits", limits), ("/proc/self/status", "VmPeak: 9 kB\nVmSize:\t 1000 kB\n")];
        assert_eq!(address_space(&files(&process), 0), Some(4_096_000 - 1_024_000));
        // Half of it stays, however many threads there are.
        assert_eq!(address_space(&files(&process), 9), Some((4_096_000 - 1_024_000) / 2));
        let wide = [("/proc/self/limits", "Max address space 1000000000 unlimited bytes"), process[1]];
        assert_eq!(address_space(&files(&wide), 2), Some(1_000_000_000 - 1_024_000 - 2 * 69_206_016));
        let unlimited = [("/proc/self/limits", "Max address space  unlimited  unlimited  bytes"), process[1]];
        assert_eq!(address_space(&files(&unlimited), 2), None);
        assert!(is_short_for(Some(5 * THREAD), 3) && !is_short_for(Some(6 * THREAD), 3) && !is_short_for(None, 3));
    }

    #[test]
    fn sizes_are_decimal() {
        for (text, bytes) in
            [("8G", 8_000_000_000), ("1.5k", 1500), ("500MB", 500_000_000), ("2T", 2_000_000_000_000), ("7", 7)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "0", "x", "1e99G", "nan"] {
            assert!(size(text).unwrap_err().contains("8G"), "{text}");
        }
    }
}
