//! Which files can be written: formats by extension, and places that take a file.

use crate::outcome::Stop;
use crate::terminal::output::{cannot_write, is_stdout};
use std::io;
use std::path::Path;

/// A format of drawings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines and text, sharp at any size
    #[default]
    Svg,
    /// Pixels
    Png,
}

impl Format {
    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }

    /// The format that a file's name asks for; SVG without an extension.
    pub fn of(flag: &str, path: &Path) -> Result<Self, Stop> {
        let name = expect_extension(flag, path, "a picture", &["svg", "png"])?;
        Ok(if name.as_deref() == Some("png") { Format::Png } else { Format::Svg })
    }
}

/// Checks that `path` can be written as `what`, whose files have one of `extensions` or none; returns the extension.
pub(crate) fn expect_extension(
    flag: &str,
    path: &Path,
    what: &str,
    extensions: &[&str],
) -> Result<Option<String>, Stop> {
    check_place(path)?;
    let Some(extension) = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()) else {
        return Ok(None);
    };
    if extensions.contains(&extension.as_str()) {
        return Ok(Some(extension));
    }
    // The name of a device or a pipe need not say what is written into it.
    if path.exists() && !path.is_file() {
        return Ok(None);
    }
    let known: Vec<String> = extensions.iter().map(|extension| format!(".{extension}")).collect();
    let known = known.join(" or ");
    let message = format!("{flag} {}: {what} is written as {known}, not as .{extension}", path.display());
    let other = path.with_extension(extensions[0]);
    let name = crate::text::quote::shell_quote(&other);
    Err(Stop::user(message).hint(format!("write `{flag} {name}`")))
}

/// Checks that a file can be written at `path`, as far as that shows before.
pub(crate) fn check_place(path: &Path) -> Result<(), Stop> {
    if is_stdout(path) {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let problem = match parent.metadata() {
        Err(error) => error,
        Ok(parent) if !parent.is_dir() => io::Error::from(io::ErrorKind::NotADirectory),
        Ok(_) if path.is_dir() || named_as_folder(path) => io::Error::from(io::ErrorKind::IsADirectory),
        Ok(_) => return Ok(()),
    };
    Err(cannot_write(path, &problem))
}

/// Tells whether the path ends with a separator, as those of folders may.
fn named_as_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn names_ask_for_formats() {
        let dir = scratch("formats");
        let of = |name: &str| Format::of("--out", &dir.join(name));
        assert_eq!(of("a.svg").unwrap(), Format::Svg);
        assert_eq!(of("a.PNG").unwrap(), Format::Png);
        assert_eq!(of("a").unwrap(), Format::Svg);
        assert_eq!(Format::of("--out", Path::new("-")).unwrap(), Format::Svg);
        assert_eq!(Format::of("--out", Path::new("curves.png")).unwrap(), Format::Png);
        let error = of("my runs.jpg").unwrap_err();
        assert_eq!(error.code, 2);
        assert!(error.message.ends_with("my runs.jpg: a picture is written as .svg or .png, not as .jpg"), "{error}");
        assert!(error.hint.ends_with("my runs.svg'`") && error.hint.starts_with("write `--out '"), "{}", error.hint);
    }

    #[test]
    fn places_that_take_no_file_are_named() {
        let dir = scratch("places");
        std::fs::write(dir.join("file"), "x").unwrap();
        for name in ["none/a.svg", "file/a.svg", ".", "new/"] {
            let error = check_place(&dir.join(name)).unwrap_err();
            assert_eq!(error.code, 2, "{name}");
            assert!(error.message.contains("cannot write"), "{error}");
        }
        check_place(&dir.join("new")).unwrap();
        #[cfg(unix)]
        {
            let pipe = |name: &str| dir.join(name);
            let made = std::process::Command::new("mkfifo").args([pipe("p.png"), pipe("p.jpg")]).status();
            assert!(made.unwrap().success());
            assert_eq!(Format::of("--out", &pipe("p.png")).unwrap(), Format::Png);
            assert_eq!(Format::of("--out", &pipe("p.jpg")).unwrap(), Format::Svg);
        }
        check_place(&dir.join("file")).unwrap();
    }
}
