// The elementary functions of quickstudy-core's `math`: WGSL's own may be off by far more.

fn qs_exp(x0: f32) -> f32 {
  let x = clamp(x0, -104.0, 89.0);
  let n = round(x * 1.4426950408889634);
  let r = (x - n * 0.6933594) - n * -2.1219444e-4;
  var p = 1.3814464e-3;
  p = p * r + 8.368781e-3;
  p = p * r + 4.1668394e-2;
  p = p * r + 0.1666652;
  p = p * r + 0.49999993;
  let y = (p * (r * r) + r) + 1.0;
  let e = i32(n);
  let half = e >> 1u;
  let a = bitcast<f32>((half + 127) << 23u);
  let b = bitcast<f32>((e - half + 127) << 23u);
  // Beyond the range f32 can hold the factors would have no exponent left.
  let big = select((y * a) * b, bitcast<f32>(0x7f800000u | words[0].x), x0 > 88.72283);
  return select(big, x0, is_nan(x0));
}

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn qs_log(x: f32) -> f32 {
  let tiny = x < 1.17549435e-38;
  let scaled = select(x, x * 8388608.0, tiny);
  let bias = select(0.0, -23.0, tiny);
  let bits = bitcast<i32>(scaled);
  let k = (bits - 0x3f3504f3) >> 23u;
  let f = bitcast<f32>(bits - (k << 23u)) - 1.0;
  let e = f32(k) + bias;
  var p = -7.6344e-2;
  p = p * f + 0.12761538;
  p = p * f - 0.131602;
  p = p * f + 0.14201764;
  p = p * f - 0.16623356;
  p = p * f + 0.20001227;
  p = p * f - 0.2500082;
  p = p * f + 0.3333333;
  let z = f * f;
  var y = (p * f) * z;
  y = y + e * -2.1219444e-4;
  y = y - 0.5 * z;
  y = (f + y) + e * 0.6933594;
  let bitsx = bitcast<u32>(x);
  let special = (bitsx & 0x7fffffffu) >= 0x7f800000u;
  let nan = (bitsx & 0x80000000u) != 0u || (special && bitsx != 0x7f800000u);
  y = select(y, bitcast<f32>(0x7fc00000u | words[0].x), nan);
  y = select(y, x, bitsx == 0x7f800000u);
  return select(y, bitcast<f32>(0xff800000u | words[0].x), (bitsx & 0x7fffffffu) == 0u);
}

fn qs_tanh(x0: f32) -> f32 {
  let x = clamp(x0, -8.135002, 8.135002);
  let y = x * x;
  var p = 0.017173328;
  p = p * y + 26.501411;
  p = p * y + 4494.9883;
  p = p * y + 172066.42;
  p = p * y + 1285897.9;
  var q = y + 422.50192;
  q = q * y + 33275.22;
  q = q * y + 600698.8;
  q = q * y + 1285898.0;
  // Divisions are not exact on all GPUs: beyond the limits it is 1 to the bit.
  let within = clamp((x * p) / q, -1.0, 1.0);
  return select(select(within, sign(x), abs(x) >= 8.135002), x0, is_nan(x0));
}

fn qs_sin_cos(x: f32) -> vec2<f32> {
  let n = round(x * 0.6366197723675814);
  var r = x - n * 1.5703125;
  r = r - n * 4.837513e-4;
  r = r - n * 7.5495336e-8;
  r = r - n * 2.563344e-12;
  r = clamp(r, -1.0, 1.0);
  let z = r * r;
  var s = -1.9515296e-4;
  s = s * z + 8.332161e-3;
  s = s * z - 0.16666655;
  s = s * z * r + r;
  var c = 2.4433157e-5;
  c = c * z - 1.3887316e-3;
  c = c * z + 4.1666646e-2;
  c = (c * (z * z) - 0.5 * z) + 1.0;
  let quadrant = u32(i32(clamp(n, -1.0e9, 1.0e9)));
  let swap = (quadrant & 1u) == 1u;
  let sine = bitcast<u32>(select(s, c, swap)) ^ ((quadrant & 2u) << 30u);
  let cosine = bitcast<u32>(select(c, s, swap)) ^ (((quadrant + 1u) & 2u) << 30u);
  let bad = (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u;
  let nan = 0x7fc00000u | words[0].x;
  return vec2<f32>(bitcast<f32>(select(sine, nan, bad)), bitcast<f32>(select(cosine, nan, bad)));
}

// f32 → u32 truncates and saturates, NaN gives 0.
fn qs_to_u32(x: f32) -> u32 {
  let inside = clamp(x, 0.0, 4294967040.0);
  let wide = select(u32(inside), 0xffffffffu, x >= 4294967296.0);
  return select(wide, 0u, is_nan(x));
}

fn rotated(x: u32, n: u32) -> u32 {
  return (x << n) | (x >> (32u - n));
}

// One block of threefry2x32 with 20 rounds.
fn threefry(k0: u32, k1: u32, c0: u32, c1: u32) -> vec2<u32> {
  let k2 = k0 ^ k1 ^ 0x1bd11bdau;
  var x0 = c0 + k0;
  var x1 = c1 + k1;
  x0 += x1; x1 = rotated(x1, 13u) ^ x0;
  x0 += x1; x1 = rotated(x1, 15u) ^ x0;
  x0 += x1; x1 = rotated(x1, 26u) ^ x0;
  x0 += x1; x1 = rotated(x1, 6u) ^ x0;
  x0 += k1; x1 += k2 + 1u;
  x0 += x1; x1 = rotated(x1, 17u) ^ x0;
  x0 += x1; x1 = rotated(x1, 29u) ^ x0;
  x0 += x1; x1 = rotated(x1, 16u) ^ x0;
  x0 += x1; x1 = rotated(x1, 24u) ^ x0;
  x0 += k2; x1 += k0 + 2u;
  x0 += x1; x1 = rotated(x1, 13u) ^ x0;
  x0 += x1; x1 = rotated(x1, 15u) ^ x0;
  x0 += x1; x1 = rotated(x1, 26u) ^ x0;
  x0 += x1; x1 = rotated(x1, 6u) ^ x0;
  x0 += k0; x1 += k1 + 3u;
  x0 += x1; x1 = rotated(x1, 17u) ^ x0;
  x0 += x1; x1 = rotated(x1, 29u) ^ x0;
  x0 += x1; x1 = rotated(x1, 16u) ^ x0;
  x0 += x1; x1 = rotated(x1, 24u) ^ x0;
  x0 += k1; x1 += k2 + 4u;
  x0 += x1; x1 = rotated(x1, 13u) ^ x0;
  x0 += x1; x1 = rotated(x1, 15u) ^ x0;
  x0 += x1; x1 = rotated(x1, 26u) ^ x0;
  x0 += x1; x1 = rotated(x1, 6u) ^ x0;
  x0 += k2; x1 += k0 + 5u;
  return vec2<u32>(x0, x1);
}

// Of the keyed permutations.
fn mixed(x0: u32) -> u32 {
  var x = x0 ^ (x0 >> 16u);
  x = x * 0x85ebca6bu;
  x = x ^ (x >> 13u);
  x = x * 0xc2b2ae35u;
  return x ^ (x >> 16u);
}
