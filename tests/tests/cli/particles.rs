//! `eval --particle`: particles of a policy one by one and together.

use crate::{expect_user_error, sandbox};
use std::fs;

#[test]
fn particles_are_evaluated_one_by_one_and_together() {
    let dir = sandbox();
    assert!(dir.run("eval --help").out.contains("--particle <I|all>"));
    let small = "--set horizon=16 --set envs=2 --set hidden=[8] --threads 1 --eval-every 0";
    let svpg = "train svpg --env pendulum --steps 600 --set num_particles=3 --set cell=gru --set units=4";
    assert_eq!(dir.run(&format!("{svpg} {small} --out r")).code, Some(0));
    let promised =
        |out: &str| out.lines().filter(|line| line.starts_with("mean_return ")).map(str::to_owned).collect::<Vec<_>>();
    let all = dir.run("eval r --particle all --episodes 5 --csv all.csv");
    assert_eq!(all.code, Some(0), "{all:?}");
    let lines = promised(&all.out);
    assert_eq!(lines.len(), 3 + 1, "{}", all.out);
    assert!(
        lines[3].ends_with(" episodes 15 particles 3") && all.out.ends_with(&format!("{}\n", lines[3])),
        "{}",
        all.out
    );
    let csv = fs::read_to_string(dir.join("all.csv")).unwrap();
    assert!(csv.starts_with("run,particle,episode,return,length,end\n\"r/last.safetensors\",0,0,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 15);
    let mut best = Vec::new();
    for (i, expected) in lines.iter().take(3).enumerate() {
        let one = dir.run(&format!("eval r --particle {i} --episodes 5"));
        assert_eq!(one.code, Some(0), "{one:?}");
        assert!(one.out.contains(&format!("pendulum · svpg · particle {i} · seed 0 ")), "{}", one.out);
        let line = promised(&one.out).pop().unwrap();
        assert_eq!(*expected, format!("{line} r/last.safetensors particle {i}"), "{}", all.out);
        best.push(line);
    }
    assert!(best[0] != best[1] && best[1] != best[2] && best[0] != best[2], "particles play alike: {best:?}");
    // Without the flag it is the best one.
    assert!(best.contains(&promised(&dir.run("eval r --episodes 5").out)[0]));
    assert_eq!(dir.run("eval r --particle 1 --episodes 2 --gif one.gif").code, Some(0));
    assert!(fs::read(dir.join("one.gif")).unwrap().starts_with(b"GIF89a"));
    expect_user_error(&dir.run("eval r --particle all --gif a.gif"), &["--gif", "3 particles", "--particle 0"]);
    expect_user_error(&dir.run("eval r --particle 3"), &["--particle", "no number 3", "0 to 2"]);
    for wrong in ["x", "-1", "1.5"] {
        expect_user_error(&dir.run(&format!("eval r --particle {wrong}")), &["--particle", "or all"]);
    }
    assert_eq!(dir.run(&format!("train a2c --env pendulum --steps 64 {small} --out a")).code, Some(0));
    for which in ["0", "all"] {
        let refused = dir.run(&format!("eval r a --particle {which}"));
        expect_user_error(&refused, &["a/last.safetensors", "--particle: a policy of a2c has no particles"]);
        assert!(promised(&refused.out).is_empty(), "{}", refused.out);
    }
}
