//! A GPU that is asked to stop, and one of whose memory only a part may be taken.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Context, DType, Error, Program, State};
use quickstudy_tests::gpu::device;

/// A loop over products, of which each step is a dispatch.
fn steps(cx: &mut Context, len: usize) {
    let x = cx.input("x", &[64, 64], DType::F32);
    let (last, _) =
        scan(len, false, &[x], &[], |_, c, _| Loop { carry: vec![c[0].matmul(c[0]).tanh()], ys: Vec::new() });
    cx.output("last", last[0]);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn programs_stop_between_submissions_and_the_device_goes_on() {
    let device = device();
    let x = device.array(&[64, 64], &[0.01; 4096]).unwrap();
    let interrupt = device.interrupt();
    let mut long = Program::new(&device, |cx| steps(cx, 1 << 20)).unwrap();
    let other = interrupt.clone();
    let asks = std::thread::spawn(move || {
        while other.reached().step == 0 {
            std::thread::yield_now();
        }
        other.ask();
    });
    assert_eq!(long.run(&State::new(), &[("x", &x)], &[]).unwrap_err(), Error::Interrupted);
    asks.join().unwrap();
    interrupt.clear();
    let mut short = Program::new(&device, |cx| steps(cx, 2)).unwrap();
    let out = short.run(&State::new(), &[("x", &x)], &[]).unwrap();
    let found = pollster::block_on(device.read(out.get("last").unwrap())).unwrap();
    // tanh(64 · 0.01²) = 0.0064, then tanh(64 · 0.0064²) = 0.00262, both to within 1e-5 of their arguments.
    assert!(found.iter().all(|y| (y - 0.00262).abs() < 1e-4), "{:?}", &found[..4]);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn more_than_may_be_taken_is_refused() {
    let device = device();
    device.limit_memory(100_000);
    // Argument, result and the loop's other value: 16 kB each.
    assert!(Program::new(&device, |cx| steps(cx, 2)).is_ok());
    device.limit_memory(40_000);
    let error = Program::new(&device, |cx| steps(cx, 2)).unwrap_err();
    assert!(matches!(error, Error::Memory(_)), "{error}");
    assert!(error.to_string().contains("the input `x` [64, 64]"), "{error}");
}
