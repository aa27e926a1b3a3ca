//! Help, lists and versions: they fit a terminal, and say what is so.

use crate::added::with_added;
use crate::sandbox;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::builtin_names;
use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::every::every;
use std::fs;
use std::process::Command;

#[test]
fn everything_that_explains_fits_80_columns() {
    let dir = sandbox();
    let first = dir.run("--help").out;
    let listed = first.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What a line goes on with stands further to the right.
    let verbs = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let helps: Vec<String> =
        verbs.filter(|verb| *verb != "help").chain([""]).map(|verb| format!("{verb} --help")).collect();
    assert!(helps.len() > 12, "{helps:?}");
    let parts = ["", "algorithms", "environments", "presets", "settings", "metrics"].map(|part| format!("list {part}"));
    for arguments in helps.iter().chain(&parts) {
        let shown = dir.run(arguments);
        assert_eq!(shown.code, Some(0), "{arguments}");
        for line in shown.out.lines() {
            assert!(line.chars().count() <= 80, "{arguments}: {} columns: {line}", line.chars().count());
        }
    }
    for line in dir.run("list environments").out.lines().filter(|line| line.contains("point-corner ")) {
        assert_eq!(line.split_whitespace().next_back(), Some("goal_y"), "{line}");
    }
}

#[test]
fn examples_are_not_wrapped() {
    let dir = sandbox();
    for verb in ["", "train", "sweep", "eval", "adapt", "plot", "compare", "report", "watch", "export", "list", "bench"]
    {
        let help = dir.run(&format!("{verb} --help")).out;
        let examples = help.split_once("\nExamples:\n").unwrap().1;
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            // A command, or what it does below it.
            let whole = ["  quickstudy ", "  mkdir ", "      "].iter().any(|begin| line.starts_with(begin));
            assert!(whole, "{verb}: `{line}` is the end of another line: {examples}");
        }
    }
}

#[test]
fn the_help_of_train_shows_the_settings_of_the_algorithm_that_is_asked_for() {
    let dir = sandbox();
    for def in every() {
        let algorithm = def.name;
        let help = with_added(&dir, &format!("train {algorithm} --help"));
        assert_eq!(help.code, Some(0));
        let tables: Vec<&str> = help.out.lines().filter(|line| line.starts_with("Settings of ")).collect();
        assert!(tables.len() == 1 && tables[0].starts_with(&format!("Settings of {algorithm} ")), "{tables:?}");
        let own = with_added(&dir, &format!("list settings {algorithm}")).out;
        assert!(own.lines().count() > def.settings().count() && help.out.contains(&own), "{algorithm}: {}", help.out);
        for doc in def.settings() {
            let line = own.lines().find(|line| line.starts_with(&format!("  {} ", doc.key)));
            let line = line.unwrap_or_else(|| panic!("{} is missing: {own}", doc.key));
            assert!(line.split_whitespace().count() >= 3, "no default or meaning: {line}");
            let text = own.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&format!("[{}]", doc.range)), "{}: {own}", doc.range);
        }
    }
    // Wherever it stands; without one it is the first, and the others are named.
    assert!(dir.run("train --env point-corner promp --help").out.contains("Settings of promp "));
    let none = dir.run("train --help").out;
    assert!(none.contains("Settings of ppo ") && ALGORITHMS.iter().all(|def| none.contains(def.name)), "{none}");
    assert_eq!(dir.run("list settings pp").code, Some(2));
}

#[test]
fn bench_says_how_long_it_takes() {
    let help = sandbox().run("bench --help").out;
    // Two seconds for each environment and instruction set, and eight lines of training.
    let lines = builtin_names().len() * Isa::available().len() + 8;
    let minutes = (2 * lines).div_ceil(60);
    let said = format!("Without a part it measures {lines} lines, 2 seconds each: about {minutes} minute");
    assert!(help.contains(&said), "{said}: {help}");
}

#[test]
fn a_program_of_ones_own_does_not_take_the_version_of_quickstudy_for_its_own() {
    let dir = sandbox();
    let quickstudy = dir.run("--version").out;
    let own = with_added(&dir, "--version").out;
    assert_eq!(own.trim(), format!("quickstudy-under-test (made with {})", quickstudy.trim()));
    let page = with_added(&dir, "man").out;
    let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
    assert!(title.contains("made with quickstudy"), "{title}");
}

#[test]
fn the_version_is_never_a_commit_of_another_repository() {
    let dir = sandbox();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../native-cli/build.rs");
    let built = dir.join("build");
    let compiled = Command::new("rustc").args(["--edition", "2024", "-o"]).arg(&built).arg(script).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: there is no rustc");
        return;
    }
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let done = Command::new("git").args(who).args(arguments).current_dir(dir.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let commit = |package: &str| {
        let mut script = Command::new(&built);
        script.env("CARGO_MANIFEST_DIR", dir.join(package)).env("CARGO_PKG_VERSION", "0.1.0");
        let done = script.env_remove("QUICKSTUDY_COMMIT").output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=QUICKSTUDY_COMMIT="));
        line.map(str::to_owned)
    };
    // The package unpacked in another repository, with what `cargo package` wrote and without it; a copy of its folder.
    let record = "0123456789012345678901234567890123456789";
    for package in ["quickstudy-0.1.0", "vendored", "native-cli"] {
        fs::create_dir(dir.join(package)).unwrap();
        fs::write(dir.join(package).join("Cargo.toml"), "").unwrap();
    }
    let written = format!("{{\"git\": {{\"sha1\": \"{record}\"}}}}");
    fs::write(dir.join("quickstudy-0.1.0/.cargo_vcs_info.json"), written).unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "Another project"]);
    assert_eq!(commit("quickstudy-0.1.0").as_deref(), Some(record));
    assert_eq!(["vendored", "native-cli"].map(commit), [None, None]);
    // The repository of quickstudy has all of its folders.
    for folder in ["core", "gpu"] {
        fs::create_dir(dir.join(folder)).unwrap();
        fs::write(dir.join(folder).join("Cargo.toml"), "").unwrap();
    }
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "Quickstudy"]);
    assert_eq!(commit("native-cli"), Some(git(&["rev-parse", "HEAD"])));
}

#[test]
fn the_version_names_its_commit() {
    let version = sandbox().run("--version").out;
    assert!(version.starts_with(concat!("quickstudy ", env!("CARGO_PKG_VERSION"))), "{version}");
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        done.ok()
            .filter(|done| done.status.success())
            .map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        println!("skipped: there is no git");
        return;
    };
    let date = git(&["show", "-s", "--format=%cs", "HEAD"]).unwrap();
    let [year, month] = [&date[..4], &date[5..7]];
    assert!(version.contains(&format!(" (commit {}", &commit[..10])), "{version}, at {commit}");
    // The day is that of UTC.
    assert!(version.contains(&format!(" of {year}-{month}-")) || date.ends_with("-01"), "{version}, of {date}");
}

#[test]
fn shells_are_told_names_and_manuals_keep_examples() {
    let dir = sandbox();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = dir.run(&format!("completions {shell}"));
        assert_eq!(script.code, Some(0), "{shell}: {}", script.err);
        let names: &[&str] = match shell {
            // Of these two the generator knows verbs and flags alone.
            "elvish" | "powershell" => &["train", "seed"],
            _ => &["train", "seed", "promp", "half-cheetah-vel"],
        };
        for name in names {
            assert!(script.out.contains(name), "{shell} does not know {name}");
        }
    }
    let unknown = dir.run("completions nushell");
    assert!(unknown.code == Some(2) && unknown.err.contains("bash"), "{}", unknown.err);

    let page = dir.run("man").out;
    assert!(page.contains(".TH quickstudy 1") && page.contains(".nf\nExamples:\n"), "{page}");
    assert_eq!(dir.run("man --out pages").code, Some(0));
    for verb in ["train", "eval", "plot", "export", "completions"] {
        let page = std::fs::read_to_string(dir.path().join(format!("pages/quickstudy-{verb}.1"))).unwrap();
        assert!(page.contains(&format!(".TH quickstudy-{verb} 1")), "{verb}: {page}");
    }
    std::fs::write(dir.path().join("file"), "").unwrap();
    let wrong = dir.run("man --out file/pages");
    assert!(wrong.code.is_some_and(|code| code > 0) && wrong.err.contains("file/pages"), "{}", wrong.err);
}
