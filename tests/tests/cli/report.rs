//! `report`: one page that holds all of some runs, loads nothing, and shows whatever they are called as text.

use crate::compare::make_run;
use crate::{expect_user_error, sandbox};
use base64::Engine as _;
use quickstudy_tests::process::{Finished, Sandbox};
use sha2::Digest as _;
use std::fs;

#[track_caller]
fn page(dir: &Sandbox, arguments: &str) -> String {
    let done = dir.run(arguments);
    assert_eq!(done.code, Some(0), "{done:?}");
    fs::read_to_string(dir.join("report.html")).unwrap()
}

/// Asserts that nothing of the page is loaded or run, and that its elements are closed.
#[track_caller]
fn expect_self_contained(page: &str) {
    // The page's policy knows its style by a hash.
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style));
    let policy = format!("content=\"default-src 'none'; style-src 'sha256-{hash}'");
    assert!(page.contains(&policy), "the style has changed: page.rs needs the hash sha256-{hash}");
    assert!(!style.contains("url("), "{style}");
    for part in ["<script", "<link", "<img", "<iframe", "src=", "href=", "url(http", "javascript:", " style=", " on"] {
        // Words of the page's text may begin with `on`; attributes have a value.
        let found = page.match_indices(part).find(|(at, _)| {
            let rest = &page[at + part.len()..];
            part != " on"
                || rest
                    .split(|c: char| !c.is_ascii_alphabetic())
                    .next()
                    .is_some_and(|word| rest[word.len()..].starts_with('='))
        });
        assert_eq!(found, None, "{part}: {page}");
    }
    for element in ["section", "table", "details", "svg", "figure", "div", "ul", "pre", "g", "tr", "span"] {
        let opened = page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}: {page}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let once: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(ids.len(), once.len(), "{ids:?}");
}

#[test]
fn a_report_holds_curves_statistics_settings_and_how_to_repeat_it() {
    let dir = sandbox();
    for seed in 0..3 {
        for (algorithm, last) in [("ppo", 400.0), ("a2c", 100.0)] {
            let config = format!("algorithm = \"{algorithm}\"\nenv = \"cartpole\"\nseed = {seed}\ngamma = 0.98\n");
            let name = format!("r/{algorithm}-{seed}");
            let points = [(1000.0, 20.0), (2000.0, last + 10.0 * f64::from(seed)), (3000.0, last)];
            // The runs of one experiment are longer.
            make_run(&dir, &name, &config, &points[..if algorithm == "ppo" { 3 } else { 2 }]);
            let command = format!("quickstudy train {algorithm} --env cartpole --seed {seed}\n");
            fs::write(dir.join(&name).join("command.txt"), command).unwrap();
            let version = "{\"quickstudy\": \"0.1.0\", \"commit\": \"0123456789abcdef\", \"device\": \"cpu (avx2)\"}";
            fs::write(dir.join(&name).join("version.json"), version).unwrap();
        }
    }
    let page = page(&dir, "report r");
    expect_self_contained(&page);
    for part in [
        "<h1>a2c and ppo on cartpole</h1>",
        "6 runs of 2 experiments on 1 environment",
        // A panel whose colours follow the page, with both lines and the bands of both.
        "aria-label=\"evaluation return over environment steps on cartpole\"",
        "var(--c0072b2,#0072b2)",
        "<caption><span>cartpole: eval/return_mean at a budget of 2k steps</span></caption>",
        "runs on cartpole end at 2k to 3k steps and are compared at 2k, which all reached",
        "<caption><span>Settings that differ</span></caption>",
        "<th scope=\"row\"><code>algorithm</code></th><td><code>a2c</code></td><td><code>ppo</code></td>",
        "<th scope=\"row\"><code>gamma</code></th><td><code>0.98</code></td>",
        "quickstudy train a2c --env cartpole --seed 0\nquickstudy train a2c --env cartpole --seed 1\n",
        "All runs were made by quickstudy 0.1.0 (0123456789).",
        "<td>cpu (avx2)</td>",
        "No picture: ",
    ] {
        assert!(page.contains(part), "`{part}` is missing: {page}");
    }
    // The statistics are those of `compare`, at the steps that all runs reached: 400, 410, 420 and 100, 110, 120.
    assert!(page.contains("<td class=\"n\">410.00</td>") && page.contains("<td class=\"n\">110.00</td>"), "{page}");
    assert_eq!(fs::read_to_string(dir.join("report.html")).unwrap(), self::page(&dir, "report r"), "the same again");
    let streamed = dir.run("report r -o - --title A<b> --no-pictures");
    assert!(streamed.out.contains("<h1>A&lt;b&gt;</h1>") && !streamed.out.contains("No picture"), "{streamed:?}");
    let one = self::page(&dir, "report r/ppo-0 --force");
    expect_self_contained(&one);
    assert!(one.contains("<h1>ppo on cartpole</h1>") || one.contains("<h1>ppo · cartpole</h1>"), "{one}");
}

#[test]
fn names_of_runs_are_text() {
    let dir = sandbox();
    let evil = "\\\"><script>alert(1)</script><img src=x onerror=alert(1)>";
    for (i, gamma) in ["</td><script>", "0.9"].into_iter().enumerate() {
        let config = format!(
            "algorithm = \"{evil}\"\nenv = \"</figure><svg onload=alert(1)>\"\nseed = \"{evil}\"\n\
             \"<b>key</b>\" = \"{gamma}\"\n"
        );
        let name = if cfg!(unix) { format!("r/<i>{i}") } else { format!("r/{i}") };
        make_run(&dir, &name, &config, &[(1000.0, 1.0), (2000.0, 2.0)]);
        fs::write(dir.join(&name).join("command.txt"), "</pre><script>alert(2)</script>\u{1b}[31m\n").unwrap();
        fs::write(
            dir.join(&name).join("version.json"),
            "{\"quickstudy\": \"<script>\", \"commit\": \"</p><script>\", \"device\": 3, \"os\": \"<u>\"}",
        )
        .unwrap();
    }
    let page = page(&dir, "report r");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("&lt;u&gt;"), "{page}");
    for part in ["<script", "<img", "<i>", "<b>", "<u>", "<svg onload", "\u{1b}"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    // Files that are no text, no JSON, or too large for a page.
    let name = if cfg!(unix) { "r/<i>0" } else { "r/0" };
    fs::write(dir.join(name).join("command.txt"), [0xff, 0xfe, b'\n']).unwrap();
    fs::write(dir.join(name).join("version.json"), "{").unwrap();
    let long = format!("# {}\nalgorithm = \"a\"\n", "x".repeat(100_000));
    fs::write(dir.join(name).join("config.toml"), long).unwrap();
    let again = self::page(&dir, "report r");
    assert!(again.contains("… the rest is left out here") && again.len() < 100_000, "{}", again.len());
}

#[test]
fn pictures_are_of_an_episode_of_a_trained_policy() {
    let dir = sandbox();
    let small = "--set hidden=[8] --set envs=2 --set horizon=64 --steps 256 --device cpu";
    let Finished { code, err, .. } = dir.run(&format!("train ppo --env pendulum {small} --out r/a"));
    assert_eq!(code, Some(0), "{err}");
    let page = page(&dir, "report r");
    expect_self_contained(&page);
    assert!(page.contains("ppo · pendulum at step 40\"") && page.contains("in 200 steps"), "{page}");
    assert_eq!(page.matches("<figcaption>step ").count(), 6, "{page}");
    fs::write(dir.join("r/a/best.safetensors"), "no snapshot").unwrap();
    let damaged = self::page(&dir, "report r");
    assert!(damaged.contains("No picture: ") && damaged.contains("<h2>Learning curves</h2>"), "{damaged}");
}

#[test]
fn what_cannot_be_reported_is_said() {
    let dir = sandbox();
    make_run(&dir, "r/a", "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = 0\n", &[(1000.0, 1.0)]);
    make_run(&dir, "r/empty", "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = 1\n", &[]);
    fs::create_dir(dir.join("nothing")).unwrap();
    expect_user_error(&dir.run("report nothing"), &["nothing holds no run", "hint: expected a run folder"]);
    expect_user_error(&dir.run("report missing"), &["missing"]);
    expect_user_error(&dir.run("report r --metric train/entrpy"), &["has no metric `train/entrpy`"]);
    expect_user_error(&dir.run("report r --baseline sac"), &["--baseline sac: no experiment is called that"]);
    expect_user_error(&dir.run("report r --by gama"), &["--by gama: no run has this setting"]);
    expect_user_error(&dir.run("report r -o report.pdf"), &["a report is written as .html or .htm, not as .pdf"]);
    expect_user_error(&dir.run("report r -o none/report.html"), &["cannot write none/report.html"]);
    expect_user_error(&dir.run("report r/empty"), &["there is nothing to compare yet"]);
    #[cfg(unix)]
    {
        let metrics = dir.join("r/a/metrics.csv");
        let before = fs::read(&metrics).unwrap();
        std::os::unix::fs::symlink(&metrics, dir.join("link.html")).unwrap();
        expect_user_error(&dir.run("report r -o link.html"), &["is a file of a run, which would be lost"]);
        assert_eq!(fs::read(&metrics).unwrap(), before);
    }
    // A run without a value beside one that has some is named, and the page is there.
    let page = page(&dir, "report r");
    assert!(page.contains("r/empty has no value of eval/return_mean and does not count"), "{page}");
}
