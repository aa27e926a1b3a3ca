//! Pictures of `plot` and `adapt`: their content and their formats.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use std::fs;

/// A run folder as `train` leaves it, with these returns.
fn make_run(dir: &Sandbox, name: &str, config: &str, returns: &[f64]) {
    fs::create_dir_all(dir.join(name)).unwrap();
    fs::write(dir.join(name).join("config.toml"), config).unwrap();
    let rows = returns.iter().enumerate().map(|(i, y)| format!("{},{y}\n", 1000 * (i + 1)));
    let csv: String = std::iter::once("time/env_steps,rollout/ep_return_mean\n".to_owned()).chain(rows).collect();
    fs::write(dir.join(name).join("metrics.csv"), csv).unwrap();
}

fn config(algorithm: &str, env: &str, seed: u32, more: &str) -> String {
    format!("algorithm = \"{algorithm}\"\nenv = \"{env}\"\nseed = {seed}\nsteps = 4000\n{more}\n")
}

/// Width, height and pixels of a PNG as a decoder reads them.
fn decoded(bytes: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    pixels.truncate(info.buffer_size());
    reader.finish().unwrap();
    (info.width, info.height, pixels.chunks(3).map(|p| [p[0], p[1], p[2]]).collect())
}

#[test]
fn the_same_run_in_two_folders_counts_once() {
    let dir = sandbox();
    let zero = config("ppo", "cartpole", 0, "gamma = 0.98");
    make_run(&dir, "runs/a", &zero, &[20.0, 100.0, 500.0]);
    make_run(&dir, "runs/again", &zero, &[20.0, 100.0, 500.0]);
    let once = dir.run("plot runs");
    assert_eq!(once.code, Some(0), "{once:?}");
    let row = |out: &str| out.lines().find(|line| line.starts_with("ppo · cartpole ")).unwrap().to_owned();
    assert_eq!(row(&once.out).split_whitespace().nth(3), Some("1"), "{}", once.out);
    assert!(once.out.contains("note: runs/a and runs/again hold the same run with seed 0"), "{}", once.out);
    assert!(fs::read_to_string(dir.join("curves.svg")).unwrap().contains("one seed"));
    // The folder of one that was stopped earlier, and another seed.
    make_run(&dir, "runs/early", &zero, &[20.0, 100.0]);
    make_run(&dir, "runs/other", &config("ppo", "cartpole", 1, "gamma = 0.98"), &[10.0, 90.0, 300.0]);
    let two = dir.run("plot runs/early runs/a runs/other runs/a/");
    assert_eq!(row(&two.out).split_whitespace().nth(3), Some("2"), "{}", two.out);
    assert!(row(&two.out).contains("400.00"), "{}", two.out);
    assert!(two.out.contains("note: runs/early and runs/a hold the same run"), "{}", two.out);
    assert!(two.out.contains("runs/a counts, which is longer"), "{}", two.out);
    assert_eq!(two.out.matches("note: ").count(), 1, "a folder that is named twice is no news: {}", two.out);
}

#[test]
fn labels_of_everything_at_once_are_short() {
    let dir = sandbox();
    let many: String = (0..40).map(|i| format!("setting_{i} = {i}\n")).collect();
    make_run(&dir, "runs/a", &config("ppo", "cartpole", 0, "gamma = 0.98\nhidden = [64, 64]"), &[20.0, 500.0]);
    make_run(&dir, "runs/b", &config("ppo", "cartpole", 0, "gamma = 0.9\nhidden = [64, 64]"), &[20.0, 400.0]);
    make_run(&dir, "runs/c", &config("trpo", "pendulum", 0, "gamma = 0.95\nmax_kl = 0.01"), &[-900.0, -200.0]);
    make_run(&dir, "runs/d", &config("rl2-ppo", "bandit:arms=10", 0, &many), &[1.0, 7.0]);
    let drawn = dir.run("plot runs");
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    let svg = fs::read_to_string(dir.join("curves.svg")).unwrap();
    for label in ["gamma=0.98", "gamma=0.9", "trpo", "rl2-ppo"] {
        let label = if label.starts_with("gamma") { format!("ppo {label}") } else { label.to_owned() };
        assert!(svg.contains(&format!(">{label}<")), "{label}: {svg}");
        assert!(drawn.out.lines().any(|line| line.starts_with(&format!("{label} "))), "{label}: {}", drawn.out);
    }
    for panel in ["cartpole", "pendulum", "bandit:arms=10"] {
        assert!(svg.contains(&format!(">{panel}<")), "{panel}: {svg}");
    }
    let by = dir.run("plot runs/a runs/b runs/c --by env");
    assert!(by.out.contains("\ncartpole ") && by.out.contains("\npendulum "), "{}", by.out);
    assert!(!by.out.contains("gamma="), "{}", by.out);
    let named = dir.run("plot runs/a runs/b --label far --label near");
    assert!(named.out.contains("\nfar ") && named.out.contains("\nnear "), "{}", named.out);
    expect_user_error(&dir.run("plot runs/a runs/b --label far"), &["1 label for 2 lines", "gamma=0.98; gamma=0.9"]);
    expect_user_error(&dir.run("plot runs --by gama"), &["--by gama", "did you mean `gamma`?"]);
}

#[test]
fn the_extension_says_which_format_is_written() {
    let dir = sandbox();
    make_run(&dir, "a", &config("ppo", "cartpole", 0, ""), &[20.0, 100.0, 500.0]);
    make_run(&dir, "b", &config("trpo", "cartpole", 0, ""), &[10.0, 300.0, 400.0]);
    for name in ["x.svg", "x.png", "plain", "X.PNG"] {
        assert_eq!(dir.run(&format!("plot a b -o {name}")).code, Some(0), "{name}");
    }
    let svg = fs::read_to_string(dir.join("x.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg == fs::read_to_string(dir.join("plain")).unwrap());
    let (width, height, pixels) = decoded(&fs::read(dir.join("x.png")).unwrap());
    assert!(svg.contains(&format!("width=\"{}\" height=\"{}\"", width / 2, height / 2)), "twice as many pixels");
    let count = |color: [u8; 3]| pixels.iter().filter(|pixel| **pixel == color).count();
    // Both lines in their colours, and letters.
    for color in [[0, 114, 178], [213, 94, 0], [38, 38, 44]] {
        assert!(count(color) > 1000, "{color:?}: {}", count(color));
    }
    assert!(count([255; 3]) > pixels.len() / 2);
    for name in ["x.jpg", "x.pdf", "x.svg.gz"] {
        expect_user_error(&dir.run(&format!("plot a -o {name}")), &[name, ".svg or .png"]);
        assert!(!dir.join(name).exists());
    }
    expect_user_error(&dir.run("plot a -o none/x.png"), &["cannot write none/x.png"]);
}

#[test]
fn adaptation_is_drawn_in_pixels_too() {
    let dir = sandbox();
    let train = "train promp --env point-corner --steps 1000 --out r --set meta_batch=3 --set rollouts=4 \
                 --set horizon=10 --set hidden=[16]";
    assert_eq!(dir.run(train).code, Some(0));
    let done = dir.run("adapt r --tasks 5 --format png");
    assert_eq!(done.code, Some(0), "{done:?}");
    for name in ["r/adapt.png", "r/paths.png"] {
        let (width, height, pixels) = decoded(&fs::read(dir.join(name)).unwrap());
        assert!(width >= 960 && height >= 500, "{name}: {width} × {height}");
        assert!(pixels.contains(&[38, 38, 44]) && pixels.contains(&[255; 3]), "{name}");
    }
    assert!(!dir.join("r/adapt.svg").exists());
}
