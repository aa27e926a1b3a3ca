//! `export` as ONNX: what a model names and says, that its bytes repeat, and what is refused.
//!
//! Its actions are compared with those of the policy in `python/tests`.

use std::fs;

use crate::added::with_added;
use crate::{expect_user_error, sandbox};
use quickstudy_tests::every::RANKED_SEARCH;
use quickstudy_tests::process::Sandbox;

const SMALL: &str = "--threads 1 --set hidden=[4] --set envs=2 --set horizon=8";

/// The fields of a message of protocol buffers with integers and bytes, each by its number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        match key & 7 {
            0 => found.push((key >> 3, value.to_le_bytes().to_vec())),
            2 => {
                let (field, rest) = bytes.split_at(usize::try_from(value).unwrap());
                (bytes, _) = (rest, found.push((key >> 3, field.to_vec())));
            }
            other => panic!("type {other}"),
        }
    }
    found
}

fn all(message: &[u8], number: u64) -> Vec<Vec<u8>> {
    fields(message).into_iter().filter(|(found, _)| *found == number).map(|(_, value)| value).collect()
}

fn text(message: &[u8], number: u64) -> String {
    String::from_utf8(all(message, number).remove(0)).unwrap()
}

fn integer(message: &[u8], number: u64) -> u64 {
    u64::from_le_bytes(all(message, number).remove(0).try_into().unwrap())
}

/// The names of a graph's inputs or outputs, with their types and all sizes but the batch's.
fn tensors(model: &[u8], number: u64) -> Vec<String> {
    let graph = all(model, 7).remove(0);
    let one = |info: Vec<u8>| {
        let tensor = all(&all(&info, 2).remove(0), 1).remove(0);
        let dims = all(&all(&tensor, 2).remove(0), 1);
        assert_eq!(text(&dims[0], 2), "batch");
        let sizes: Vec<u64> = dims[1..].iter().map(|dim| integer(dim, 1)).collect();
        format!("{} {} {sizes:?}", text(&info, 1), if integer(&tensor, 1) == 7 { "i64" } else { "f32" })
    };
    all(&graph, number).into_iter().map(one).collect()
}

fn property(model: &[u8], key: &str) -> Option<String> {
    all(model, 14).into_iter().find(|entry| text(entry, 1) == key).map(|entry| text(&entry, 2))
}

fn done(dir: &Sandbox, arguments: &str) -> String {
    let finished = dir.run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments}: {finished:?}");
    finished.out
}

fn model(dir: &Sandbox, arguments: &str) -> Vec<u8> {
    done(dir, &format!("export {arguments} -o model.onnx --force"));
    fs::read(dir.join("model.onnx")).unwrap()
}

#[test]
fn a_model_names_its_inputs_and_says_what_it_is_of() {
    let dir = sandbox();
    done(&dir, &format!("train ppo --env cartpole --steps 64 {SMALL} --eval-every 0 --seed 5 --out choices"));
    let bytes = model(&dir, "choices");
    assert_eq!((integer(&bytes, 1), text(&bytes, 2)), (8, "quickstudy".to_owned()));
    assert_eq!(integer(&all(&bytes, 8)[0], 2), 15, "the version of its operators");
    assert_eq!(tensors(&bytes, 11), ["obs f32 [4]"]);
    assert_eq!(tensors(&bytes, 12), ["action i64 []", "logits f32 [2]"]);
    for (key, expected) in [
        ("environment", "cartpole"),
        ("algorithm", "ppo"),
        ("seed", "5"),
        ("env_steps", "64"),
        ("dtype", "float32"),
        ("observation", r#"["x","x_dot","theta","theta_dot"]"#),
        ("actions", r#"{"choices":["left","right"]}"#),
    ] {
        assert_eq!(property(&bytes, key).as_deref(), Some(expected), "{key}");
    }
    assert!(property(&bytes, "config").unwrap().contains(r#""horizon":8"#));
    let memory = "--set cell=lstm --set units=3 --set learned_start=true";
    done(&dir, &format!("train a2c --env pendulum --steps 64 {SMALL} {memory} --out memory"));
    let bytes = model(&dir, "memory");
    assert_eq!(tensors(&bytes, 11), ["obs f32 [3]", "memory_in f32 [6]"]);
    assert_eq!(tensors(&bytes, 12), ["action f32 [1]", "memory_out f32 [6]"]);
    assert_eq!(property(&bytes, "actions").unwrap(), r#"{"high":[2.0],"low":[-2.0],"names":["torque"]}"#);
    let start: Vec<f64> = serde_json::from_str(&property(&bytes, "memory_start").unwrap()).unwrap();
    assert_eq!(start.len(), 6);
}

#[test]
fn policies_that_adapt_have_inputs_for_what_they_adapt_by() {
    let dir = sandbox();
    let trials = "--set units=4 --set meta_batch=2 --set minibatches=2 --set episodes=2";
    done(&dir, &format!("train rl2-ppo --env bandit:arms=3 --steps 1 --threads 1 {trials} --out trials"));
    let bytes = model(&dir, "trials");
    let expected = ["obs f32 [1]", "previous_action f32 [3]", "previous_reward f32 [1]", "previous_end f32 [1]"];
    assert_eq!(tensors(&bytes, 11), [&expected[..], &["memory_in f32 [4]"]].concat());
    assert_eq!(tensors(&bytes, 12), ["action i64 []", "logits f32 [3]", "memory_out f32 [4]"]);
    done(&dir, "train promp --env point-corner --steps 1 --threads 1 --set hidden=[4] --set meta_batch=2 --out steps");
    let said = done(&dir, "export steps -o steps.onnx");
    assert!(said.contains("before it adapts") && said.contains("wrote steps.onnx"), "{said}");
}

#[test]
fn equal_runs_are_equal_models_and_the_best_policy_is_the_default() {
    let dir = sandbox();
    for run in ["a", "b"] {
        done(
            &dir,
            &format!("train ppo --env pendulum --steps 256 --eval-every 64 {SMALL} --set minibatches=2 --out {run}"),
        );
    }
    let [a, b] = ["a", "b"].map(|run| model(&dir, run));
    assert!(a == b && a == model(&dir, "a --best") && a == model(&dir, "a/best.safetensors"));
    let last = model(&dir, "a --last");
    assert!(last == model(&dir, "a/last.safetensors") && property(&last, "env_steps").as_deref() == Some("256"));
    done(
        &dir,
        &format!("train ppo --env pendulum --steps 256 --eval-every 0 {SMALL} --set minibatches=2 --seed 1 --out c"),
    );
    assert!(model(&dir, "c") != last);
    let out = dir.command("export a --format onnx -o -").output().unwrap();
    assert!(out.status.success() && out.stdout == a);
    done(&dir, "export a --format onnx -o policy.bin");
    assert!(fs::read(dir.join("policy.bin")).unwrap() == a);
}

#[test]
fn particles_and_policies_from_outside_are_models() {
    let dir = sandbox();
    let svpg = "train svpg --env pendulum --steps 64 --set num_particles=2 --eval-every 0";
    done(&dir, &format!("{svpg} {SMALL} --out particles"));
    let [first, second, best] =
        ["--particle 0", "--particle 1", ""].map(|which| model(&dir, &format!("particles {which}")));
    assert!(first != second && (best == first || best == second));
    expect_user_error(&dir.run("export particles -o x.onnx --particle 2"), &["no number 2", "0 to 1"]);
    let small = "--set n_samples=4 --threads 1 --out added";
    let trained = with_added(&dir, &format!("train {} --env cartpole --steps 100 {small}", RANKED_SEARCH.name));
    assert_eq!(trained.code, Some(0), "{trained:?}");
    let exported = with_added(&dir, "export added -o added.onnx");
    assert_eq!(exported.code, Some(0), "{exported:?}");
    expect_user_error(&dir.run("export added -o x.onnx"), &[RANKED_SEARCH.name]);
}

#[test]
fn a_model_that_cannot_be_is_refused() {
    let dir = sandbox();
    done(&dir, &format!("train ppo --env cartpole --steps 64 {SMALL} --eval-every 0 --out r"));
    expect_user_error(&dir.run("export r -o x.png"), &["x.png", ".safetensors or .onnx"]);
    expect_user_error(&dir.run("export r -o x.onnx --best"), &["holds no best.safetensors"]);
    expect_user_error(&dir.run("export r -o x.onnx --best --last"), &["--best", "--last"]);
    for flag in ["--best", "--last", "--particle 0"] {
        let refused = dir.run(&format!("export r -o x.safetensors {flag}"));
        expect_user_error(&refused, &[flag.split(' ').next().unwrap(), "--format onnx"]);
    }
    expect_user_error(&dir.run("export r -o x.onnx --particle 0"), &["a policy of ppo has no particles"]);
    expect_user_error(&dir.run("export nothing -o x.onnx"), &["nothing"]);
    expect_user_error(&dir.run("export r -o nowhere/x.bin --format onnx"), &["cannot write nowhere/x.bin"]);
    expect_user_error(&dir.run("export r -o x.onnx --format pb"), &["pb", "onnx"]);
    let whole = fs::read(dir.join("r/last.safetensors")).unwrap();
    fs::write(dir.join("r/last.safetensors"), &whole[..whole.len() - 1]).unwrap();
    expect_user_error(&dir.run("export r -o x.onnx"), &["r/last.safetensors", "damaged"]);
    assert!(!dir.join("x.onnx").exists());
    fs::write(dir.join("r/last.safetensors"), &whole).unwrap();
    done(&dir, "export r -o x.onnx");
    expect_user_error(&dir.run("export r -o x.onnx"), &["x.onnx is there already", "--force"]);
}
