use toml::Table;

use super::*;
use crate::algo::StateEntry;
use crate::env::builtin;
use crate::train::saved::snapshot;
use crate::train::saved::tensors;
use crate::train::session::restored::restored;
use crate::train::{ALGORITHMS, Layer, Own, Ring, Saved, Session, Setup, Snapshots, small};
use crate::{Device, Error};
use pollster::block_on;

const REPLAY: &str = "hidden = [4]\nenvs = 2\niteration_steps = 20\nlearning_starts = 20\nbatch_size = 8\ntrain_freq \
                      = 10\n\
                      gradient_steps = 2\nprioritised = true\n";
const SAMPLED: &str = "hidden = [4]\nenvs = 2\nhorizon = 64\nminibatches = 1\nnormalise_observations = true\n\
                       normalise_rewards = true\n";
const POPULATION: &str = "hidden = [4]\nn_samples = 8\nepisodes = 1\n";
const META: &str = "hidden = [4]\nmeta_batch = 2\nrollouts = 2\n";

/// A run: algorithm, environment, settings, iterations.
type Run<'a> = (&'a str, &'a str, &'a [&'a str], u64);

/// Runs by settings whose numbers are in a snapshot.
const RUNS: &[Run<'_>] = &[
    ("ppo", "cartpole", &[SAMPLED, "epochs = 1\nadvantage_scope = \"running\""], 2),
    (
        "ppo",
        "pendulum",
        &[SAMPLED, "epochs = 1\ncritic = \"last\"\noptimiser = \"rms_prop\"\nrms_decay = 1\nlearning_rate = 1e-6"],
        2,
    ),
    ("ppo", "cartpole", &["hidden = [4]\nenvs = 2\nepochs = 1\nminibatches = 1\nmin_steps = 32"], 2),
    ("ppo2", "cartpole", &[SAMPLED, "epochs = 1\noptimiser = \"sgd\""], 1),
    (
        "a2c",
        "cartpole",
        &["hidden = [4]\nenvs = 2\nhorizon = 8\noptimiser = \"rms_prop\"\nrms_decay = 1\nlearning_rate = 1e-6"],
        4,
    ),
    ("vpg", "cartpole", &[SAMPLED, "critic = \"first\""], 2),
    ("trpo", "cartpole", &["hidden = [4]\nenvs = 2\nhorizon = 64"], 2),
    (
        "svpg",
        "cartpole",
        &[SAMPLED, "num_particles = 2\noptimiser = \"rms_prop\"\nrms_decay = 1\nlearning_rate = 1e-6"],
        2,
    ),
    ("svpg", "cartpole", &[SAMPLED, "num_particles = 2"], 2),
    ("dqn", "cartpole", &[REPLAY, "memory_size = 64"], 3),
    ("dqn", "cartpole", &[REPLAY, "memory_size = 4000"], 2),
    ("dql", "cartpole", &[REPLAY, "memory_size = 64\nrms_decay = 1\nlearning_rate = 1e-6"], 3),
    ("ddpg", "pendulum", &[REPLAY, "memory_size = 64\nnoise = \"ornstein_uhlenbeck\""], 3),
    ("td3", "pendulum", &[REPLAY, "memory_size = 64"], 3),
    ("sac", "pendulum", &[REPLAY, "memory_size = 4000"], 3),
    ("cem", "cartpole", &[POPULATION], 2),
    ("cma-es", "cartpole", &[POPULATION], 2),
    ("openai-es", "cartpole", &[POPULATION], 2),
    ("ars", "cartpole", &[POPULATION, "top_directions = 2\nnormalise_observations = true"], 2),
    ("nop", "cartpole", &[POPULATION], 2),
    ("maml-ppo", "point-corner", &[META], 1),
    ("maml-vpg", "point-corner", &[META], 1),
    ("maml-trpo", "point-corner", &[META], 1),
    ("e-maml", "point-corner", &[META], 1),
    ("promp", "point-corner", &[META, "target_inner_kl = 0.1\ninner_kl_coef = 1"], 1),
    ("dice-maml", "point-corner", &[META], 1),
    ("rl2-ppo", "bandit", &["units = 2\nmeta_batch = 2\nepisodes = 2\nminibatches = 1"], 1),
    ("rl2-trpo", "bandit", &["units = 2\nmeta_batch = 2\nepisodes = 2"], 1),
    (
        "pearl",
        "point-corner",
        &["hidden = [4]\nencoder_hidden_sizes = [4]\ntrain_tasks = 2\nnum_tasks_sample = 2\nnum_initial_steps = 100\n\
           num_steps_prior = 100\nnum_extra_rl_steps_posterior = 0\nnum_steps_per_epoch = 2\nmeta_batch = 2\n\
           batch_size = 8\n\
           embedding_batch_size = 8\nembedding_mini_batch_size = 8\nmemory_size = 2000"],
        2,
    ),
];

fn session((algorithm, env, settings, iterations): Run<'_>) -> Result<Session> {
    let settings: Table = toml::from_str(&settings.concat()).unwrap();
    let layer = Layer { origin: "test".to_owned(), settings };
    let setup = Setup::resolve(algorithm, builtin(env).unwrap(), &[3], Some(10_000), &[layer])?;
    let mut session = Session::new(&Device::cpu(1), &setup)?;
    for _ in 0..iterations {
        block_on(session.step())?;
    }
    Ok(session)
}

/// A number that cannot be: its place in the entry, and its value.
type Forged = (usize, f64);

/// Numbers just outside of the range of an entry.
fn outside(numbers: Numbers, array: &SeedArray<'_>) -> Vec<Forged> {
    let float = array.entry.dtype == DType::F32;
    let mut all = Vec::new();
    if numbers.least.is_finite() && float {
        all.push(numbers.least - 0.25);
        all.extend(numbers.whole.then_some(numbers.least - 1.0));
    }
    if numbers.most.is_finite() && (float || numbers.most < f64::from(u32::MAX)) {
        // These are a whole number that f32 can hold, and one that it cannot.
        all.push(if numbers.most < 1e6 { numbers.most + 1.0 } else { numbers.most * 2.0 });
    }
    if numbers.whole && float {
        all.push(0.5);
    }
    let last = array.words.len() - 1;
    all.into_iter().flat_map(|value| [(0, value), (last, value)]).collect()
}

/// Numbers that are in their range and break a relation.
fn unrelated(relation: &Relation, array: &SeedArray<'_>, arrays: &[SeedArray<'_>], made: RunLength) -> Vec<Forged> {
    let last = array.words.len() - 1;
    let find = |name: &str| arrays.iter().find(|array| array.entry.name == name).unwrap();
    match relation {
        Relation::Filled(_) => vec![(0, array.at(0) - 1.0), (0, 0.0)],
        Relation::FilledUpTo { .. } => vec![(0, array.at(0) - 1.0), (last, 0.0)],
        Relation::Stretch { filled, .. } => vec![(0, find(filled).at(0) + 1.0)],
        Relation::AboveZeroIn(filled) => {
            let filled = find(filled).at(0) as usize;
            let mut all = vec![(0, 0.0), (filled - 1, 0.0)];
            all.extend((filled <= last).then_some((filled, 1e-3)));
            all
        }
        Relation::SumsOf { .. } => vec![(0, array.at(0) * 1.001), (0, 0.0), (last, array.at(last) + 1.0)],
        Relation::NotBelow(_) => vec![(0, array.at(0) * 0.999)],
        Relation::UpToIterations => vec![(0, made.iteration as f64 + 1.0)],
        Relation::Corrects(_) => match find(MOMENTS[0]).numbers().any(|x| x != 0.0) {
            true if array.at(0) > 0.0 => vec![(0, 0.0)],
            _ => Vec::new(),
        },
    }
}

/// Replaces one number of one entry in a file. Gives the name of its tensor, and the file.
fn forged(file: &[u8], array: &SeedArray<'_>, layout: &Layout, (at, value): Forged) -> (String, Vec<u8>) {
    let (header, _, mut entries) = snapshot::decode(file, &[]).unwrap();
    let parts = parts(&array.entry, layout, 2);
    let (name, place) = parts
        .into_iter()
        .find_map(|part| Some((part.name.clone(), part.places().position(|place| place == at)?)))
        .unwrap();
    let word = match array.entry.dtype {
        DType::F32 => (value as f32).to_bits(),
        DType::U32 => value as u32,
    };
    let entry = entries.iter_mut().find(|entry| entry.name == name).unwrap();
    entry.bytes.to_mut()[4 * place..][..4].copy_from_slice(&word.to_le_bytes());
    (name, snapshot::encode(header, &entries).unwrap())
}

/// Forges each count in a run's snapshot, and adds as problems the forged counts that are read, and the numbers that
/// are no counts but are refused. Gives the names of the entries whose range was left.
fn forge_all(run: Run<'_>, problems: &mut Vec<String>) -> Result<Vec<&'static str>> {
    let (device, mut names) = (Device::cpu(1), Vec::new());
    let session = session(run)?;
    let (file, algorithm) = (block_on(session.snapshot(0))?, session.setup().fitted().clone());
    let again = Session::restore(&device, &[&file])?;
    assert!(block_on(again.snapshot(0))? == file, "{run:?}");
    let made = RunLength { iteration: session.iteration(), made: session.env_steps() };
    let (header, _, entries) = snapshot::decode(&file, &[])?;
    let own: Vec<StateEntry> = session.entries().into_iter().filter(|entry| entry.ring.is_none()).collect();
    let arrays = tensors::read(&entries, header.format, &own, algorithm.layout(), made)?;
    for array in &arrays {
        let mut all = outside(array.entry.numbers, array);
        names.extend((!all.is_empty()).then_some(array.entry.name));
        let related = array.entry.relations.iter().flat_map(|relation| unrelated(relation, array, &arrays, made));
        all.extend(related.filter(|(_, value)| *value >= 0.0));
        for one in all {
            let (name, bytes) = forged(&file, array, algorithm.layout(), one);
            match restored(&device, &Own::default(), &[Saved::in_one_file(&bytes)], false).map(drop) {
                Err(Error::Snapshot(text)) if text.contains(&format!("`{name}` holds")) => {}
                other => problems.push(format!("{run:?} {one:?} {name}: {other:?}")),
            }
        }
    }
    // Counts of the header are forged too: fewer steps than iterations, or more than these can make.
    let most = algorithm.most(header.iteration);
    for env_steps in [header.iteration - 1, most + 1, 1_000_000_000_000_000, u64::MAX] {
        let mut counted = header.clone();
        counted.env_steps = env_steps;
        let file = snapshot::encode(counted, &entries)?;
        match Session::restore(&device, &[&file]).map(drop) {
            Err(Error::Snapshot(text)) if text.contains(&format!("{env_steps} environment steps cannot be")) => {}
            other => problems.push(format!("{run:?} {env_steps}: {other:?}")),
        }
    }
    Ok(names)
}

#[test]
fn forged_numbers_of_each_algorithm_are_refused_by_name_and_its_own_are_read() {
    let (mut problems, mut names) = (Vec::new(), Vec::new());
    // Each by small settings, and those that count more by settings of their own.
    let each = ALGORITHMS.iter().map(|def| {
        let (env, settings) = small(def).unwrap();
        (def.name, env.spec().name.clone(), settings.to_string())
    });
    for (algorithm, env, settings) in &each.collect::<Vec<_>>() {
        let text = [settings.as_str()];
        let run: Run<'_> = (algorithm, env, &text, 2);
        if let Err(error) = forge_all(run, &mut problems) {
            problems.push(format!("{run:?}: {error}"));
        }
    }
    for run in RUNS {
        match forge_all(*run, &mut problems) {
            Ok(more) => names.extend(more),
            Err(error) => problems.push(format!("{run:?}: {error}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // Each count of the page on snapshots is among these.
    for name in [
        "memory_next",
        "memory_filled",
        "context_first",
        "context_filled",
        "updates_since_target",
        "env_steps",
        "obs_count",
        "reward_count",
        "advantage_count",
        "particle_episodes",
        "search_generation",
        "adam_scale_critics",
        "adam_v",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn a_ring_is_listed_once_and_only_what_is_one() {
    let run = session(("dqn", "cartpole", &[REPLAY, "memory_size = 64"], 3)).unwrap();
    let copy: Snapshots<'_> = block_on(run.snapshots()).unwrap();
    let (mut parts, mut segments) = (copy.parts(0, &[]).unwrap(), Vec::new());
    while let Some(rows) = block_on(parts.rows()).unwrap() {
        segments.push((rows.segment, rows.offset, rows.bytes));
    }
    let (file, _) = block_on(parts.encode()).unwrap();
    let read = |name: &str, _: u64| {
        Ok(segments
            .iter()
            .filter(|(other, ..)| other == name)
            .flat_map(|(_, _, bytes)| bytes.clone())
            .collect::<Vec<u8>>())
    };
    let refused = |rings: &dyn Fn(Vec<Ring>) -> Vec<Ring>| {
        let (header, _, entries) = snapshot::decode(&file, &[]).unwrap();
        let rings = rings(header.rings.clone());
        let bytes = snapshot::encode(header.with_rings(rings), &entries).unwrap();
        let saved = Saved::in_parts(&bytes, &read);
        let device = Device::cpu(1);
        let [one, two] = [
            Session::restore_saved(&device, Own::default(), &[saved]).map(drop),
            crate::train::joined(Own::default(), saved).map(drop),
        ];
        assert_eq!(one, two);
        one.map_err(|error| error.to_string())
    };
    assert_eq!(refused(&|rings| rings), Ok(()));
    let twice = refused(&|rings| [rings.clone(), rings].concat()).unwrap_err();
    assert!(twice.contains("`memory.transitions` is in segments twice"), "{twice}");
    let renamed = |mut rings: Vec<Ring>| {
        rings[0].tensor = "memory.next".to_owned();
        rings
    };
    let other = refused(&renamed).unwrap_err();
    assert!(other.contains("`memory.next` is no replay buffer"), "{other}");
}

#[test]
fn a_state_that_could_not_be_read_is_not_written() {
    let mut run = session(("ppo", "cartpole", &["hidden = [4]\nenvs = 2\nhorizon = 8\nminibatches = 1"], 1)).unwrap();
    let shape = run.state().get("env_steps").unwrap().shape.clone();
    let steps = run.device().array_u32(&shape, &[3, 500]).unwrap();
    run.state_mut().insert("env_steps", steps);
    let Err(Error::Unsaved(text)) = block_on(run.snapshot(0)) else { panic!("it was written") };
    assert!(text.starts_with("seed 3: the tensor `environment.steps` holds 500 at [1, 0], which cannot be"), "{text}");
    // The policy can still be saved.
    block_on(run.policy_snapshot(0)).unwrap();
    let mut run = session(("ppo", "cartpole", &[SAMPLED, "epochs = 1"], 1)).unwrap();
    let variance = run.device().array(&[1, 4], &[1.0, -0.5, 1.0, 1.0]).unwrap();
    run.state_mut().insert("obs_var", variance);
    let Err(Error::NonFinite(text)) = block_on(run.policy_snapshot(0)) else { panic!("it was written") };
    assert!(text.contains("NaN in `policy.0.std` at [1]"), "{text}");
    let particles = [SAMPLED, "epochs = 1\nnum_particles = 2"];
    let mut run = session(("svpg", "cartpole", &particles, 1)).unwrap();
    let episodes = run.device().array(&[1, 2], &[3.0, 100.5]).unwrap();
    run.state_mut().insert("particle_episodes", episodes);
    let Err(Error::Unsaved(text)) = block_on(run.policy_snapshot(0)) else { panic!("it was written") };
    assert!(text.contains("`particles.episodes` holds 100.5 at [1]"), "{text}");
}
