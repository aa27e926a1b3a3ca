const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** 51,200 */
export function count(value: number): string {
  return whole.format(value);
}

/** 51.2K */
export function compact(value: number): string {
  return short.format(value);
}

/** A return, with as many digits as help. */
export function reward(value: number): string {
  if (!Number.isFinite(value)) {
    return "–";
  }
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace("-", "−");
}

/** A mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Names that are not made of words. */
const SPELT: Record<string, string> = { cartpole: "CartPole" };

/** Words of learners' names that are not written in capitals. */
const WORDS: Record<string, string> = { promp: "ProMP", rl2: "RL²", openai: "OpenAI" };

/** `ppo` as people write it. */
export function learner(name: string): string {
  return name
    .split("-")
    .map((word) => WORDS[word] ?? word.toUpperCase())
    .join("-");
}

/** `mountain-car` as people write it. */
export function title(name: string): string {
  const words = name.replaceAll("-", " ");
  return SPELT[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
