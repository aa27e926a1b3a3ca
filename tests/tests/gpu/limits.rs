//! Sizes at which limits of GPUs count: WebGPU's defaults, dispatches of two dimensions, loops that a software adapter
//! would end, and messages about what is too large.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Context, DType, Device, Program, State, Tensor};
use quickstudy_gpu::{DeviceLimits, GpuOptions, KernelLimits, shaders};
use quickstudy_tests::gpu::{self, open};

fn default_limits() -> GpuOptions {
    GpuOptions { default_limits: true, ..GpuOptions::default() }
}

/// Run a program without arguments; its one output.
fn words(device: &Device, trace: impl Fn() -> Tensor) -> Vec<u32> {
    let mut program = Program::new(device, |cx| cx.output("y", trace())).unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    pollster::block_on(device.read_u32(out.get("y").unwrap())).unwrap()
}

/// Section 3.6.2 of the WebGPU specification.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn default_limits_are_exactly_those_of_webgpu() {
    let gpu = open(&default_limits());
    let expected = DeviceLimits {
        storage_buffers: 8,
        binding_bytes: 128 << 20,
        buffer_bytes: 256 << 20,
        uniform_bytes: 64 << 10,
        dynamic_uniforms: 8,
        bind_groups: 4,
        workgroup_bytes: 16 << 10,
        workgroup_invocations: 256,
        workgroup_width: 256,
        workgroups: 65_535,
        immediate_bytes: 0,
    };
    assert_eq!(gpu.device_limits(), expected);
    // As all tests run with `QUICKSTUDY_GPU_LIMITS=default`.
    if std::env::var(gpu::LIMITS).is_ok() {
        assert_eq!(open(&GpuOptions::default()).device_limits(), expected);
    }
}

/// More than 65,535 workgroups of 256.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_dispatch_of_two_dimensions_reaches_every_element() {
    let device = Device::new(open(&default_limits()));
    let n = 65_535 * 256 + 1000;
    let word = |i: u32| (i ^ (i >> 7)).wrapping_mul(2_654_435_761);
    let found = words(&device, || {
        let i = Tensor::iota(&[n], 0);
        i.bit_xor(i.shr(Tensor::constant_u32(7))) * Tensor::constant_u32(2_654_435_761)
    });
    assert_eq!(found.len(), n);
    assert!(found.iter().enumerate().all(|(i, x)| *x == word(i as u32)));
}

/// More than 65,535 workgroups that sum 16 rows each.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn as_many_workgroups_sum_every_row() {
    let device = Device::new(open(&default_limits()));
    let (rows, width) = (65_536 * 16 + 33, 33);
    let found = words(&device, || {
        let i = Tensor::iota(&[rows, width], 0).bit_and(Tensor::constant_u32(0xffff));
        let j = Tensor::iota(&[rows, width], 1);
        (i + j).to_f32().sum(&[1]).to_u32()
    });
    assert_eq!(found.len(), rows);
    let sum = |i: usize| 33 * (i as u32 & 0xffff) + 16 * 33;
    assert!(found.iter().enumerate().all(|(i, x)| *x == sum(i)));
}

const LONG: usize = 70_001;

/// Mesa's software adapter ends all loops of an invocation after 65,535 iterations. So many results are not worth
/// slices otherwise.
fn long_product(m: usize, n: usize) -> Tensor {
    let index = |shape: &[usize], axis: usize, mask: u32| {
        Tensor::iota(shape, axis).bit_and(Tensor::constant_u32(mask)).to_f32()
    };
    let a = (index(&[m, 1], 0, 1) + 1.0) * index(&[1, LONG], 1, 3);
    let b = (index(&[1, n], 1, 1) + 1.0) * Tensor::ones(&[LONG, 1]);
    a.matmul(b).to_u32()
}

fn long_product_is_right(tiled: bool) {
    let device = Device::new(open(&GpuOptions { tiled: Some(tiled), ..default_limits() }));
    let (m, n) = (256, 256);
    let found = words(&device, || long_product(m, n));
    let sum: u32 = (0..LONG as u32).map(|k| k & 3).sum();
    for (i, x) in found.iter().enumerate() {
        let (row, column) = ((i / n) as u32, (i % n) as u32);
        assert_eq!(*x, (1 + row % 2) * (1 + column % 2) * sum, "row {row}, column {column}");
    }
}

#[test]
#[ignore = "a minute on a software adapter: scripts/second-tier.sh"]
fn a_long_product_of_many_results_is_right() {
    long_product_is_right(false);
}

#[test]
#[ignore = "a minute on a software adapter: scripts/second-tier.sh"]
fn a_long_product_of_many_results_in_tiles_is_right() {
    long_product_is_right(true);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn long_sums_and_maxima_of_many_results_are_right() {
    let device = Device::new(open(&default_limits()));
    let rows = 1500;
    for across in [false, true] {
        let shape = if across { [LONG, rows] } else { [rows, LONG] };
        let (along, row) = if across { (0, 1) } else { (1, 0) };
        let x = || {
            let i = Tensor::iota(&shape, along);
            // The largest one is near the end.
            let far = i.lt(Tensor::constant_u32(LONG as u32 - 2)).select(i.bit_and(Tensor::constant_u32(3)), i);
            far.to_f32() + Tensor::iota(&shape, row).bit_and(Tensor::constant_u32(1)).to_f32()
        };
        let last = LONG as u32 - 1;
        let sum = (0..last - 1).map(|k| k & 3).sum::<u32>() + last + last - 1;
        let found = words(&device, || x().sum(&[along]).to_u32());
        assert!(found.iter().enumerate().all(|(i, x)| *x == sum + (i as u32 & 1) * LONG as u32), "{:?}", &found[..2]);
        let found = words(&device, || x().max_over(&[along]).to_u32());
        assert!(found.iter().enumerate().all(|(i, x)| *x == last + (i as u32 & 1)), "{:?}", &found[..2]);
    }
}

type Trace<'a> = &'a dyn Fn(&mut Context);

/// No loop of a shader makes more iterations than it may, whatever the number of results.
#[test]
fn long_contractions_are_cut_as_a_device_asks() {
    let limits = |trips, tiled| KernelLimits { trips, tiled, ..KernelLimits::default() };
    let texts = |trips, tiled, trace: Trace| {
        let plan = gpu::plan(Program::trace_of(|cx| trace(cx)).unwrap());
        shaders(&plan, limits(trips, tiled))
    };
    let product = |cx: &mut Context| {
        let (a, b) = (cx.input("a", &[512, 5000], DType::F32), cx.input("b", &[5000, 512], DType::F32));
        cx.output("y", a.matmul(b));
    };
    let sum = |cx: &mut Context| cx.output("y", Tensor::iota(&[100_000, 50_000], 0).to_f32().sum(&[1]));
    let max = |cx: &mut Context| cx.output("y", Tensor::iota(&[50_000, 100_000], 1).max_over(&[0]));
    let cases: [(&str, Trace, usize); 3] = [("sum", &sum, 100), ("max", &max, 100), ("product", &product, 1000)];
    for (name, trace, trips) in cases {
        for tiled in [false, true] {
            let trips = if name == "product" && tiled { 100 } else { trips };
            assert_eq!(texts(1 << 22, tiled, trace).unwrap().len(), 1, "{name}");
            assert_eq!(texts(trips, tiled, trace).unwrap().len(), 2, "{name}");
        }
    }
}

/// The error of compiling a program under the default limits.
fn refusal(trace: impl FnOnce(&mut Context)) -> String {
    let device = Device::new(open(&default_limits()));
    match Program::new(&device, trace) {
        Ok(_) => panic!("it was not refused"),
        Err(e) => e.to_string(),
    }
}

fn says(message: &str, parts: &[&str]) {
    let all = ["allows 128 MiB in one buffer", "use fewer environments", "on the CPU"];
    parts.iter().chain(&all).for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_tensor_that_is_too_large_is_named() {
    let message = refusal(|cx| {
        let x = cx.input("observations", &[1 << 20, 33], DType::F32);
        cx.output("y", x.sum_all());
    });
    says(&message, &["the input `observations` (f32 [1048576, 33])", "needs 132 MiB"]);
    let message = refusal(|cx| {
        let x = cx.state("memory", &[1 << 25, 2], DType::U32);
        cx.update("memory", x + x);
    });
    says(&message, &["the state `memory` (u32 [33554432, 2])", "needs 256 MiB"]);
    let message = refusal(|cx| cx.output("grid", Tensor::iota(&[6000, 6000], 0)));
    says(&message, &["the output `grid` (u32 [6000, 6000])", "needs 137.4 MiB"]);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_intermediate_value_that_is_too_large_is_named_with_its_place() {
    // A product of a product: the first one has to be kept.
    let line = line!() + 4;
    let message = refusal(|cx| {
        let (a, b) = (cx.input("a", &[8000, 2], DType::F32), cx.input("b", &[2, 8000], DType::F32));
        let c = cx.input("c", &[8000, 2], DType::F32);
        let kept = a.matmul(b);
        cx.output("y", kept.matmul(c));
    });
    let place = format!("made at tests/tests/gpu/limits.rs:{line}:");
    says(&message, &["the result of `matmul` (f32 [8000, 8000])", "needs 244.2 MiB", &place]);
    let message = refusal(|cx| {
        let (a, b) = (cx.input("a", &[8000, 2], DType::F32), cx.input("b", &[2, 8000], DType::F32));
        let first = a.matmul(b);
        let (carry, _) = scan(3, false, &[first], &[], |_, c, _| {
            let next = (c[0].sum_keep(1) * 1e-4) + c[0].permute(&[1, 0]);
            Loop { carry: vec![next], ys: Vec::new() }
        });
        cx.output("y", carry[0].sum_all());
    });
    says(&message, &["(f32 [8000, 8000])", "needs 244.2 MiB", "made at tests/tests/gpu/limits.rs:"]);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_loop_that_is_too_long_says_what_to_do() {
    let message = refusal(|cx| {
        let x = cx.input("x", &[2, 2], DType::F32);
        // Rows see each other: step by step.
        let (carry, _) =
            scan(2_000_000, false, &[x], &[], |_, c, _| Loop { carry: vec![c[0].matmul(c[0]).tanh()], ys: Vec::new() });
        cx.output("y", carry[0]);
    });
    assert!(message.contains("2000000 steps") && message.contains("put a loop into a loop"), "{message}");
}
