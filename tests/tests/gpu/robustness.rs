//! Failures of a GPU, and memory that must not grow. Skipped without one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::train::{Session, Setup};
use quickstudy_core::{DType, Device, Error, Program, State};
use quickstudy_gpu::{Gpu, GpuOptions};
use quickstudy_tests::gpu::open;
use quickstudy_tests::single_task_names;
use quickstudy_tests::trainings::{distance, snapshot, theta, training, wait};

fn setup(env: &str, seeds: &[u64]) -> Setup {
    let settings = "envs = 4\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [16]\n";
    training("ppo", env).seeds(seeds).steps(256).set(settings).setup()
}

fn step(session: &mut Session) -> Result<(), Error> {
    pollster::block_on(session.step()).map(|_| ())
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn default_limits_are_enough() {
    let small = open(&GpuOptions { default_limits: true, ..GpuOptions::default() });
    let large = open(&GpuOptions::default());
    let (small, large) = (Device::new(small), Device::new(large));
    assert_eq!(small.caps().max_bindings, 8);
    for name in single_task_names() {
        let (mut a, mut b) = (
            Session::new(&small, &setup(name, &[1, 2])).unwrap(),
            Session::new(&large, &setup(name, &[1, 2])).unwrap(),
        );
        for _ in 0..2 {
            step(&mut a).unwrap();
            step(&mut b).unwrap();
        }
        // Values that share a buffer are the same as in buffers of their own.
        let apart = distance(&theta(&a, 0), &theta(&b, 0));
        assert!(apart <= 1e-5, "{name}: {apart:e}");
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_lost_gpu_is_an_error_and_the_session_goes_on_elsewhere() {
    let gpu = open(&GpuOptions::default());
    let mut session = Session::new(&Device::new(gpu.clone()), &setup("cartpole", &[5])).unwrap();
    let mut gpu = gpu;
    for round in 0..20 {
        step(&mut session).unwrap();
        let saved = snapshot(&session, 0);
        gpu.destroy();
        let lost = (0..3).find_map(|_| step(&mut session).err());
        let Some(Error::Lost(message)) = lost else { panic!("round {round}: the loss was not noticed: {lost:?}") };
        assert!(message.contains("the GPU was lost"), "{message}");
        // The last round goes on on the CPU.
        let device = if round < 19 {
            gpu = open(&GpuOptions::default());
            Device::new(gpu.clone())
        } else {
            Device::cpu(1)
        };
        session = Session::restore(&device, &[&saved]).unwrap();
        session.set_steps(session.env_steps() + 32).unwrap();
    }
    session.set_steps(session.env_steps() + 64).unwrap();
    while !session.done() {
        step(&mut session).unwrap();
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn buffers_do_not_grow() {
    let gpu = open(&GpuOptions::default());
    let device = Device::new(gpu.clone());
    let mut program = Program::new(&device, |cx| {
        let x = cx.state("x", &[64], DType::F32);
        let by = cx.scalar_f32("by");
        cx.update("x", x + by);
        cx.output("sum", x.sum_all());
    })
    .unwrap();
    let mut state = State::new();
    state.insert("x", device.zeros(&[64], DType::F32).unwrap());
    let mut made = 0;
    for i in 0..10_000 {
        let out = program.run(&state, &[], &[("by", 1.0.into())]).unwrap();
        if i == 100 {
            made = gpu.buffers_made();
        }
        if i % 1000 == 999 {
            let sum = wait(device.read(out.get("sum").unwrap()));
            assert_eq!(sum, [64.0 * f64::from(i)]);
        }
    }
    assert_eq!(gpu.buffers_made(), made);

    let mut session = Session::new(&device, &setup("pendulum", &[1])).unwrap();
    session.set_steps(10_000).unwrap();
    step(&mut session).unwrap();
    step(&mut session).unwrap();
    let made = gpu.buffers_made();
    for _ in 0..20 {
        step(&mut session).unwrap();
    }
    assert_eq!(gpu.buffers_made(), made);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn what_is_too_large_says_how_large_and_what_to_do() {
    let gpu = open(&GpuOptions { default_limits: true, ..GpuOptions::default() });
    let device = Device::new(gpu);
    let message = device.zeros(&[1 << 26], DType::F32).unwrap_err().to_string();
    assert!(message.contains("67108864 elements needs 256 MiB") && message.contains("allows 128 MiB"), "{message}");
    assert!(message.contains("use fewer environments"), "{message}");
    let e = pollster::block_on(Gpu::open(&GpuOptions { adapter: Some(99), ..GpuOptions::default() })).unwrap_err();
    assert!(e.to_string().contains("there is no GPU number 99"), "{e}");
}

/// Set in the process that runs out of memory, which may have only so much.
const CHILD: &str = "QUICKSTUDY_TEST_MEMORY";

/// Software adapters take the process's memory, and a shell limits that.
#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn out_of_memory_is_an_error() {
    if std::env::var(CHILD).is_ok() {
        return run_out_of_memory();
    }
    let gpu = open(&GpuOptions::default());
    if !gpu.info().software {
        return println!("skipped: {} has memory of its own", gpu.info().name);
    }
    let child = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 6000000; exec \"$0\" --exact robustness::out_of_memory_is_an_error --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && text.contains("and the device goes on"), "{:?}\n{text}", child.status);
}

fn run_out_of_memory() {
    let device = Device::new(open(&GpuOptions::default()));
    let mut program = Program::new(&device, |cx| {
        let x = cx.input("x", &[64], DType::F32);
        cx.output("sum", x.sum_all());
    })
    .unwrap();
    let x = device.array_f32(&[64], &[2.0; 64]).unwrap();
    // 100 MiB each: 20 GiB, of which there are less than 6.
    let mut all = Vec::new();
    let error = (0..200).find_map(|_| match device.zeros(&[25 << 20], DType::F32) {
        Ok(array) => {
            all.push(array);
            None
        }
        Err(e) => Some(e),
    });
    let Some(Error::Device(message)) = error else { panic!("{error:?} after {}", all.len()) };
    assert!(message.contains("out of memory") && message.contains("use fewer environments"), "{message}");
    assert!(all.len() > 10, "only {} arrays", all.len());
    println!("{} arrays, then: {message}", all.len());
    drop(all);
    let out = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
    assert_eq!(wait(device.read(out.get("sum").unwrap())), [128.0]);
    println!("and the device goes on");
}
